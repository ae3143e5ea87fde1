#include "ropewalk/study/capture.h"

#include "ropewalk/cli/options.h"
#include "ropewalk/cli/text_options.h"
#include "ropewalk/cli/verbs.h"
#include "ropewalk/study/most_blocks.h"

namespace ropewalk::cli {

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
          fmt::format("Blocks of documents, for standard errors, at most {}; analysis takes time "
                      "and memory with their square",
                      kMostBlocks))
      ->check(CLI::Range(int64_t{1}, kMostBlocks))
      ->capture_default_str();
  verb->add_option("--target-se", options.target_se,
                   "Stop once the standard errors of mean r_q and mean r_k are at most this")
      ->check(above_zero());
  verb->add_flag_callback(
      "--no-pre-rope", [&options] { options.pre_rope = false; },
      "Keep nothing of queries and keys before RoPE");
  verb->add_flag("--plasticity", options.plasticity,
                 "Also keep queries and keys of a few tokens, to measure plasticity");
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
