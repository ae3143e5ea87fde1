#include "ropewalk/study/capture.h"

#include "ropewalk/cli/options.h"
#include "ropewalk/cli/verbs.h"

namespace ropewalk::cli {

void add_capture(CLI::App& app) {
  struct Arguments {
    ModelArguments model;
    CaptureOptions capture;
  };
  auto arguments = std::make_shared<Arguments>();
  CaptureOptions& options = arguments->capture;
  CLI::App* verb = app.add_subcommand("capture", "Run text through a checkpoint and keep its queries and keys");
  add_model_arguments(*verb, arguments->model);
  verb->add_option("--corpus", options.corpus, "Text: .txt, a folder of them, .jsonl, .jsonl.gz or .parquet")
      ->required();
  verb->add_option("--out", options.out, "Folder to write; must be new or empty")->required();
  verb->add_option("--tokenizer", options.tokenizer,
                   "tokenizer.json or its folder [default: beside the weights]");
  verb->add_option("--label", options.label, "Name of this checkpoint [default: the folder's name]");
  verb->add_option("--documents", options.documents, "Documents to read [default: all]")
      ->check(CLI::PositiveNumber);
  verb->add_option("--min-tokens", options.min_tokens,
                   "Shortest document to take, in tokens [default: the context]")
      ->check(CLI::PositiveNumber);
  verb->add_flag("--pre-rope", options.pre_rope, "Capture before RoPE");
  verb->add_option("--vectors", options.vectors, "Write vectors of sampled tokens: uniform, log-uniform or all");
  verb->add_option("--rate", options.rate, "Expected tokens a bucket")->capture_default_str();
  verb->add_option("--bucket-size", options.bucket_size, "Bucket width in tokens [default: context / 16]")
      ->check(CLI::PositiveNumber);
  verb->callback([arguments] {
    CaptureOptions settled = arguments->capture;
    settled.model = arguments->model.settle();
    if (settled.label.empty()) {
      settled.label = std::filesystem::absolute(settled.model.model).lexically_normal().filename().string();
    }
    capture(settled);
  });
}

}  // namespace ropewalk::cli
