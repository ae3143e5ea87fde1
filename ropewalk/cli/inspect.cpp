#include "ropewalk/study/capture/inspect.h"

#include "ropewalk/cli/options.h"
#include "ropewalk/cli/verbs.h"
#include "ropewalk/study/source/locate.h"

namespace ropewalk::cli {

void add_inspect(CLI::App& app) {
  struct Arguments {
    ModelArguments model;
    bool json = false;
  };
  auto arguments = std::make_shared<Arguments>();
  CLI::App* verb = app.add_subcommand(
      "inspect", "Show layers, heads, RoPE, memory and cost, without reading weights");
  add_model_arguments(*verb, arguments->model);
  verb->add_flag("--json", arguments->json, "Print JSON");
  verb->callback([arguments] {
    const Json inspection =
        inspect_model(open_for_inspection(arguments->model.parse(), arguments->model.revision));
    print(arguments->json ? inspection.dump(2) + "\n" : format_inspection(inspection));
  });
}

}  // namespace ropewalk::cli
