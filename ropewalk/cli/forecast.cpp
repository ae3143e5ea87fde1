#include "ropewalk/study/forecast/forecast.h"

#include "ropewalk/base/error.h"
#include "ropewalk/base/units.h"
#include "ropewalk/cli/options.h"
#include "ropewalk/cli/text_options.h"
#include "ropewalk/cli/verbs.h"

namespace ropewalk::cli {
namespace {

struct Arguments {
  ForecastOptions options;
  DatasetName dataset;
  std::optional<std::string> memory;
  int threads = 0;
};

// Options that only the check takes.
void add_check_arguments(CLI::App& verb, Arguments& arguments) {
  ForecastOptions& options = arguments.options;
  verb.add_flag("--check", options.check,
                "Run the model under every setting, measure its loss, and compare ranks; needs "
                "--corpus");
  add_corpus_arguments(verb, options.corpus.corpus, arguments.dataset);
  verb.get_option("--corpus")->required(false);
  add_rerun_arguments(verb, {options.model, options.corpus.tokenizer, options.corpus.documents,
                             options.corpus.chunk});
}

void add_arguments(CLI::App& verb, Arguments& arguments) {
  ForecastOptions& options = arguments.options;
  verb.add_option("capture", options.capture, "Folder of a capture")->required();
  verb.add_option("--context", options.context, "Tokens that the model shall read")
      ->required()
      ->check(whole_number(2));
  verb.add_option("--rope", options.rope,
                  "RoPE settings: none (the model's own), nope (no rotation), theta:500000, "
                  "theta:x8, linear:4, yarn:4, llama3:8, longrope:FILE, still:4096")
      ->required()
      ->delimiter(',');
  verb.add_option("--trained", options.trained,
                  "Tokens that the model was trained at [default: what its config states: "
                  "original_max_position_embeddings, else max_position_embeddings]")
      ->check(whole_number(2));
  verb.add_option("--out", options.out, "Folder to write; must be new or empty")->required();
  add_check_arguments(verb, arguments);
  verb.add_option("--memory", arguments.memory,
                  "Budget for weights, hidden states and curves, e.g. 8GiB [default: 80 % of the "
                  "free memory]");
  add_figure_formats(verb, options.formats);
  add_threads_option(verb, arguments.threads);
}

void require_corpus(const CLI::App& verb, const ForecastOptions& options) {
  const bool given = verb.get_option("--corpus")->count() > 0;
  if (options.check && !given) throw UsageError("--check: needs --corpus, which is not given");
  for (const char* name : {"--corpus", "--split", "--dataset-config", "--field", "--id",
                           "--documents", "--chunk", "--model", "--revision", "--tokenizer"}) {
    if (options.check || verb.get_option(name)->count() == 0) continue;
    throw UsageError("{}: is for --check, which is not given; a forecast reads no text", name);
  }
}

}  // namespace

void add_forecast(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* verb = app.add_subcommand(
      "forecast", "Compute what RoPE settings would do to a capture's heads at a longer context");
  add_arguments(*verb, *arguments);
  verb->callback([arguments, verb] {
    ForecastOptions options = arguments->options;
    require_corpus(*verb, options);
    if (options.check) name_dataset(options.corpus.corpus, arguments->dataset);
    std::erase(options.formats, "json");  // the specification is written anyway
    if (arguments->memory) options.model.memory = parse_bytes(*arguments->memory, "--memory");
    set_threads(arguments->threads, {});
    print(forecast(options));
  });
}

}  // namespace ropewalk::cli
