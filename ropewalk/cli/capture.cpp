#include "ropewalk/study/capture.h"

#include <fmt/format.h>

#include <algorithm>

#include "ropewalk/cli/options.h"
#include "ropewalk/cli/text_options.h"
#include "ropewalk/cli/verbs.h"

namespace ropewalk::cli {

namespace {

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
  struct Arguments {
    ModelArguments model;
    CaptureOptions capture;
    TextArguments text;
  };
  auto arguments = std::make_shared<Arguments>();
  CaptureOptions& options = arguments->capture;
  CLI::App* verb = app.add_subcommand(
      "capture", "Run text through a checkpoint and keep the moments of its queries and keys");
  add_model_arguments(*verb, arguments->model);
  add_text_arguments(*verb, arguments->text, options);
  verb->add_option(
          "--blocks", options.blocks,
          "Blocks of documents, for standard errors; analysis takes time with their square")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  verb->add_option("--target-se", options.target_se,
                   "Stop once the standard errors of mean r_q and mean r_k are at most this")
      ->check(above_zero());
  add_keep_options(*verb, options.keep);
  verb->add_option("--vectors", options.vectors,
                   "Also write vectors of tokens: uniform, log-uniform or all");
  verb->add_option("--rate", options.rate, "Expected tokens per bucket")
      ->check(above_zero())
      ->capture_default_str();
  verb->add_option("--bucket-size", options.bucket_size,
                   "Bucket width in tokens [default: context / 16]")
      ->check(whole_number(1));
  verb->callback([arguments, &processes] {
    CaptureOptions parsed = arguments->capture;
    finish_text_arguments(arguments->text, arguments->model, parsed, processes);
    capture(parsed);
  });
}

}  // namespace ropewalk::cli
