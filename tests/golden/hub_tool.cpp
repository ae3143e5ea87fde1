// Fetches a Hub model's revision, as the program does, without the rest of it: starting the whole
// program fifty times would take longer than all downloads. Prints the folder, or the error.
//
//   hub_tool ID [REVISION]           its config, tokenizer and weights
//   hub_tool ID REVISION stated      prints what the Hub states of its weights instead
#include <cstdio>
#include <exception>
#include <string>

#include "ropewalk/base/processes/interrupt.h"
#include "ropewalk/base/terminal.h"
#include "ropewalk/checkpoint/hub_checkpoint.h"

int main(int argc, char** argv) {
  ropewalk::install_interrupt_handlers();
  ropewalk::show_on_terminal();
  try {
    ropewalk::Hub hub;
    const auto checkpoint =
        ropewalk::find_checkpoint(hub, argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : "main");
    if (argc > 3 && std::string(argv[3]) == "stated") {
      std::printf("%s\n", ropewalk::stated_weights(hub, checkpoint).c_str());
      return 0;
    }
    ropewalk::fetch_tokenizer(hub, checkpoint);
    ropewalk::fetch_weights(hub, checkpoint, {});
    std::printf("%s\n", checkpoint.folder.c_str());
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 3;
  }
}
