#include "ropewalk/study/capture/loss.h"

#include "ropewalk/cli/options.h"
#include "ropewalk/cli/text_options.h"
#include "ropewalk/cli/verbs.h"

namespace ropewalk::cli {

void add_loss(CLI::App& app, Communicator& processes) {
  struct Arguments {
    ModelArguments model;
    TextArguments text;
    CaptureOptions options;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* verb =
      app.add_subcommand("loss", "Run text through a checkpoint and measure its loss, by position");
  add_pass_arguments(*verb, arguments->model);
  add_text_arguments(*verb, arguments->text, arguments->options);
  verb->callback([arguments, &processes] {
    CaptureOptions options = arguments->options;
    finish_text_arguments(arguments->text, arguments->model, options, processes);
    measure_loss(options);
  });
}

}  // namespace ropewalk::cli
