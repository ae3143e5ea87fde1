#include "ropewalk/study/ablation/ablate.h"

#include "ropewalk/base/units.h"
#include "ropewalk/cli/options.h"
#include "ropewalk/cli/text_options.h"
#include "ropewalk/cli/verbs.h"

namespace ropewalk::cli {
namespace {

struct Arguments {
  AblateOptions options;
  DatasetName dataset;
  std::string edits;
  std::optional<std::string> memory;
  int threads = 0;
  bool dry_run = false;
};

void add_arguments(CLI::App& verb, Arguments& arguments) {
  AblateOptions& options = arguments.options;
  verb.add_option("capture", options.capture,
                  "Folder of a capture, which gives the numbers for the edits")
      ->required();
  add_corpus_arguments(verb, options.corpus, arguments.dataset);
  verb.add_option("--heads", options.sets,
                  "A set of heads: class:NAME, top:COLUMN:10%, bottom:COLUMN:50%:kv, layer:7, or a "
                  "list such as 3.0,3.1 of layer 3, heads 0 and 1; may be given again")
      ->required()
      ->allow_extra_args(false);
  verb.add_option("--edit", arguments.edits,
                  "distance, window:W, still:CUT, zero-band:CUT, flatten, axis, head, head:zero; "
                  "several with commas")
      ->required();
  verb.add_option("--out", options.out, "Folder to write; an interrupted one is resumed")
      ->required();
  verb.add_option("--controls", options.controls,
                  "Number of random sets with which each set is compared")
      ->check(whole_number(0))
      ->capture_default_str();
  add_rerun_arguments(verb, {options.model, options.tokenizer, options.documents, options.chunk});
  verb.add_option(
      "--memory", arguments.memory,
      "Budget for weights and hidden states, e.g. 8GiB [default: 80 % of the free memory]");
  add_figure_formats(verb, options.formats);
  verb.add_flag("--dry-run", arguments.dry_run,
                "Print what would be measured and what it costs; measure nothing");
  add_threads_option(verb, arguments.threads);
}

}  // namespace

void add_ablate(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* verb = app.add_subcommand(
      "ablate", "Take something away from a capture's heads and measure what that costs, in loss");
  add_arguments(*verb, *arguments);
  verb->callback([arguments] {
    AblateOptions options = arguments->options;
    name_dataset(options.corpus, arguments->dataset);
    options.edits = names_of(arguments->edits);
    std::erase(options.formats, "json");  // the specification is written anyway
    if (arguments->memory) options.model.memory = parse_bytes(*arguments->memory, "--memory");
    set_threads(arguments->threads, {});
    print(arguments->dry_run ? describe_ablate(options) : ablate(options));
  });
}

}  // namespace ropewalk::cli
