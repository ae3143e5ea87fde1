#include "ropewalk/study/capture/capture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ropewalk/base/error.h"
#include "ropewalk/cli/options.h"
#include "ropewalk/cli/text_options.h"
#include "ropewalk/cli/verbs.h"
#include "ropewalk/study/capture/capture_vectors.h"
#include "ropewalk/study/experiment/limits.h"
#include "ropewalk/study/source/backend_model.h"

namespace ropewalk::cli {
namespace {

struct Arguments {
  ModelArguments model;
  CaptureOptions capture;
  TextArguments text;
  std::string vectors_from;
};

void capture_given_vectors(const Arguments& arguments, const Communicator& processes) {
  if (!processes.alone()) {
    throw UsageError("captured vectors are read by one process, but these are {}",
                     processes.count());
  }
  const ModelOptions model = arguments.model.parse(processes);
  VectorsOptions options;
  options.from = arguments.vectors_from;
  options.label = arguments.capture.label;
  options.context = model.context.value_or(0);
  capture_vectors(options, model.model.string(), arguments.model.revision, arguments.capture.out);
}

// Vectors that were captured elsewhere come without text and without a model to run.
void refuse_options_of_a_pass(const CLI::App& verb) {
  constexpr std::array kTaken{"model",     "--vectors-from", "--out",    "--label",
                              "--context", "--revision",     "--threads"};
  for (const CLI::Option* option : verb.get_options()) {
    const std::string name = option->get_name();
    const bool taken = std::find(kTaken.begin(), kTaken.end(), name) != kTaken.end();
    if (option->count() == 0 || taken) continue;
    throw UsageError("{} is for a model that reads text; --vectors-from reads no text", name);
  }
}

std::string spelled(const KeepOption& option) {
  std::string name = option.key;
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

void add(CLI::App& verb, const KeepOption& option, bool& member) {
  const bool by_default = member;
  verb.add_flag_callback((by_default ? "--no-" : "--") + spelled(option),
                         [&member, by_default] { member = !by_default; },
                         fmt::format("{} keep {}", by_default ? "Do not" : "Also", option.help));
}

void add(CLI::App& verb, const KeepOption& option, KeepCount& member) {
  const std::string name = "--" + spelled(option);
  const auto read = [&member](const std::string& text) {
    const std::optional<KeepCount> count = parse_keep_count(text);
    if (!count) throw CLI::ValidationError(fmt::format("found '{}', {}", text, kKeepCountExpected));
    member = *count;
  };
  verb.add_option_function<std::string>(
      name, read,
      fmt::format("Keep {}: how many, or all [default: {}]", option.help, member.number));
}

void add_keep_options(CLI::App& verb, KeepOptions& keep) {
  for (const KeepOption& option : kKeepOptions) {
    option.visit(keep, [&](auto& member) { add(verb, option, member); });
  }
}

}  // namespace

void add_capture(CLI::App& app, Communicator& processes) {
  auto arguments = std::make_shared<Arguments>();
  CaptureOptions& options = arguments->capture;
  CLI::App* verb = app.add_subcommand(
      "capture", "Run text through a checkpoint and keep the moments of its queries and keys");
  add_model_arguments(*verb, arguments->model);
  verb->add_option("--backend", arguments->model.options.backend,
                   "What runs the model: auto, ropewalk (our own pass), or transformers for "
                   "families that we lack")
      ->check(CLI::IsMember(std::vector<std::string>(kBackends.begin(), kBackends.end())))
      ->capture_default_str();
  add_text_arguments(*verb, arguments->text, options);
  verb->add_option("--blocks", options.blocks,
                   fmt::format("Blocks of documents, for standard errors, at most {}; time and "
                               "memory of analyze grow with their square",
                               kMostBlocks))
      ->check(CLI::Range(int64_t{1}, kMostBlocks))
      ->capture_default_str();
  add_former_option(*verb, "--target-se",
                    "analyze says how many --documents a standard error of 0.005 needs");
  add_keep_options(*verb, options.keep);
  verb->add_option("--vectors", options.vectors,
                   "Also write vectors of tokens: uniform, log-uniform or all");
  verb->add_option("--rate", options.rate, "Expected tokens per bucket")
      ->check(above_zero())
      ->capture_default_str();
  verb->add_option("--bucket-size", options.bucket_size,
                   "Bucket width in tokens [default: context / 16]")
      ->check(whole_number(1));
  verb->add_option(
      "--vectors-from", arguments->vectors_from,
      "Instead of reading text: vectors that were already captured, in a folder or "
      "hf://datasets/org/name@revision; of the model, if given, only the config is used");
  CLI::Option* model = verb->get_option("model")->required(false);
  CLI::Option* corpus = verb->get_option("--corpus")->required(false);
  CLI::Option* out = verb->get_option("--out")->required(false);
  verb->callback([arguments, verb, model, corpus, out, &processes] {
    CaptureOptions parsed = arguments->capture;
    const bool vectors = verb->get_option("--vectors-from")->count() > 0;
    for (const CLI::Option* option : {model, corpus, out}) {
      if (vectors && option != out) continue;
      if (option->count() == 0) throw CLI::RequiredError(option->get_name());
    }
    if (vectors) {
      refuse_options_of_a_pass(*verb);
      processes = join_processes();
      return capture_given_vectors(*arguments, processes);
    }
    finish_text_arguments(arguments->text, arguments->model, parsed, processes);
    capture(parsed);
  });
}

}  // namespace ropewalk::cli
