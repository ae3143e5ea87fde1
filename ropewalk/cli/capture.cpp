#include "ropewalk/study/capture.h"

#include "ropewalk/base/error.h"
#include "ropewalk/cli/options.h"
#include "ropewalk/cli/verbs.h"
#include "ropewalk/study/hub_place.h"
#include "ropewalk/study/locate.h"

namespace ropewalk::cli {
namespace {

std::string default_label(const ModelOptions& model) {
  if (!model.hub) return std::filesystem::absolute(model.model).lexically_normal().filename();
  const std::string& id = model.hub->repository.id;
  return model.hub->revision == "main" ? id.substr(id.find('/') + 1) : model.hub->revision;
}

// A place on the Hub without a file is a dataset.
void name_dataset(CorpusPlace& corpus, DatasetName dataset) {
  const std::string path = corpus.path.string();
  if (is_hub_place(path)) {
    const HubPlace place = parse_hub_place(path, "hf://datasets/org/name");
    dataset.id = place.inside.empty() ? place.repository.id : "";
    dataset.revision = place.revision;
  }
  if (!dataset.id.empty()) {
    corpus.dataset = dataset;
  } else if (!dataset.split.empty() || !dataset.config.empty()) {
    throw UsageError(
        "--split and --dataset-config are for --corpus hf://datasets/org/name; {} is a file", path);
  }
}

}  // namespace

void add_capture(CLI::App& app, Communicator& processes) {
  struct Arguments {
    ModelArguments model;
    CaptureOptions capture;
    DatasetName dataset;
    std::string shard;
  };
  auto arguments = std::make_shared<Arguments>();
  CaptureOptions& options = arguments->capture;
  CLI::App* verb = app.add_subcommand(
      "capture", "Run text through a checkpoint and keep the moments of its queries and keys");
  add_model_arguments(*verb, arguments->model);
  verb->add_option("--corpus", options.corpus.path,
                   "Text: .txt, .jsonl (both also .gz or .zst), .parquet, or a folder of them; "
                   "hf://datasets/org/name/FILE; or hf://datasets/org/name, a whole dataset")
      ->required();
  verb->add_option("--split", arguments->dataset.split,
                   "Split of the dataset [default: the only one]");
  verb->add_option("--dataset-config", arguments->dataset.config,
                   "Configuration of the dataset [default: its default one]");
  verb->add_option("--out", options.out, "Folder to write; must be new or empty")->required();
  verb->add_option("--tokenizer", options.tokenizer,
                   "tokenizer.json, its folder, or a Hub model [default: beside the weights]");
  verb->add_option("--label", options.label,
                   "Name of this checkpoint [default: the folder's or the revision]");
  verb->add_option("--field", options.corpus.fields.field,
                   "Field or column with the text or tokens [default: text, else tokens]");
  verb->add_option("--id", options.corpus.fields.id, "Field or column with the id [default: id]");
  verb->add_flag("--chunk", options.chunk,
                 "Cut long texts into documents of the context's length; default: drop their rest");
  verb->add_option("--documents", options.documents, "Documents to read [default: all]")
      ->check(whole_number(1));
  verb->add_option("--min-tokens", options.min_tokens,
                   "Shortest document to take, in tokens [default: the context]")
      ->check(whole_number(1));
  verb->add_option(
          "--blocks", options.blocks,
          "Blocks of documents, for standard errors; analysis takes time with their square")
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
    name_dataset(parsed.corpus, arguments->dataset);
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
