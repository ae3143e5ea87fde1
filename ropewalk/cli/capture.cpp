#include "ropewalk/study/capture.h"

#include "ropewalk/cli/options.h"
#include "ropewalk/cli/verbs.h"
#include "ropewalk/study/locate.h"

namespace ropewalk::cli {
namespace {

std::string default_label(const ModelOptions& model) {
  if (!model.hub) return std::filesystem::absolute(model.model).lexically_normal().filename();
  const std::string& id = model.hub->repository.id;
  return model.hub->revision == "main" ? id.substr(id.find('/') + 1) : model.hub->revision;
}

}  // namespace

void add_capture(CLI::App& app, Communicator& processes) {
  struct Arguments {
    ModelArguments model;
    CaptureOptions capture;
    std::string shard;
  };
  auto arguments = std::make_shared<Arguments>();
  CaptureOptions& options = arguments->capture;
  CLI::App* verb = app.add_subcommand(
      "capture", "Run text through a checkpoint and keep the moments of its queries and keys");
  add_model_arguments(*verb, arguments->model);
  verb->add_option("--corpus", options.corpus,
                   "Text: .txt, .jsonl (both also .gz or .zst), .parquet, or a folder of them; "
                   "or hf://datasets/org/name/FILE")
      ->required();
  verb->add_option("--out", options.out, "Folder to write; must be new or empty")->required();
  verb->add_option("--tokenizer", options.tokenizer,
                   "tokenizer.json, its folder, or a Hub model [default: beside the weights]");
  verb->add_option("--label", options.label,
                   "Name of this checkpoint [default: the folder's or the revision]");
  verb->add_option("--field", options.field,
                   "Field or column with the text or tokens [default: text, else tokens]");
  verb->add_option("--id", options.id, "Field or column with the id [default: id]");
  verb->add_flag("--chunk", options.chunk,
                 "Cut long texts into documents of the context's length; default: drop their rest");
  verb->add_option("--documents", options.documents, "Documents to read [default: all]")
      ->check(whole_number(1));
  verb->add_option("--min-tokens", options.min_tokens,
                   "Shortest document to take, in tokens [default: the context]")
      ->check(whole_number(1));
  verb->add_option("--blocks", options.blocks, "Blocks of documents, for standard errors")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  verb->add_option("--target-se", options.target_se,
                   "Stop once the standard errors of mean r_q and mean r_k are at most this")
      ->check(above_zero());
  verb->add_option("--shard", arguments->shard,
                   "Read only part i of n, i from 0: i/n; join with merge");
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
    // A shard is one process's, whatever started it.
    if (arguments->shard.empty()) {
      processes = join_processes();
    } else {
      parsed.shard = parse_shard(arguments->shard);
    }
    parsed.model = arguments->model.parse(processes);
    processes.first_before_others([&] { locate_model(parsed.model, arguments->model.revision); });
    if (parsed.label.empty()) {
      parsed.label = default_label(parsed.model);
    }
    capture(parsed);
  });
}

}  // namespace ropewalk::cli
