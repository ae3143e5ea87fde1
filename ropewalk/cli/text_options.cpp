#include "ropewalk/cli/text_options.h"

#include "ropewalk/base/error.h"
#include "ropewalk/study/source/hub_uri.h"
#include "ropewalk/study/source/locate.h"

namespace ropewalk::cli {
namespace {

std::string default_label(const ModelOptions& model) {
  if (!model.hub) return std::filesystem::absolute(model.model).lexically_normal().filename();
  const std::string& id = model.hub->repository.id;
  return model.hub->revision == "main" ? id.substr(id.find('/') + 1) : model.hub->revision;
}

}  // namespace

void name_dataset(CorpusSource& corpus, DatasetName dataset) {
  const std::string path = corpus.path.string();
  if (is_hub_uri(path)) {
    const HubUri uri = parse_hub_uri(path, "hf://datasets/org/name");
    dataset.id = uri.inside.empty() ? uri.repository.id : "";
    dataset.revision = uri.revision;
  }
  if (!dataset.id.empty()) {
    corpus.dataset = dataset;
  } else if (!dataset.split.empty() || !dataset.config.empty()) {
    throw UsageError(
        "--split and --dataset-config need --corpus hf://datasets/org/name, but {} is a file",
        path);
  }
}

void add_corpus_arguments(CLI::App& verb, CorpusSource& corpus, DatasetName& dataset) {
  verb.add_option("--corpus", corpus.path,
                  "Text: .txt, .jsonl (both also .gz or .zst), .parquet, or a folder of them; "
                  "hf://datasets/org/name/FILE; or hf://datasets/org/name, a whole dataset")
      ->required();
  verb.add_option("--split", dataset.split, "Split of the dataset [default: the only one]");
  verb.add_option("--dataset-config", dataset.config,
                  "Configuration of the dataset [default: its default one]");
  verb.add_option("--field", corpus.fields.field,
                  "Field or column with the text or tokens [default: text, else tokens]");
  verb.add_option("--id", corpus.fields.id, "Field or column with the id [default: id]");
}

void add_rerun_arguments(CLI::App& verb, const RerunArguments& arguments) {
  verb.add_option("--documents", arguments.documents, "Documents to read [default: all]")
      ->check(whole_number(1));
  verb.add_flag("--chunk", arguments.chunk,
                "Cut long texts into several documents of the context's length [default: use only "
                "their beginning]");
  verb.add_option(
      "--model", arguments.model.model,
      "Where the capture's model is now: a folder or a Hub model [default: where it was]");
  verb.add_option("--revision", arguments.model.revision,
                  "Revision of a Hub model given with --model");
  verb.add_option("--tokenizer", arguments.tokenizer,
                  "tokenizer.json, its folder, or a Hub model [default: the capture's]");
  verb.add_option("--device", arguments.model.device, "auto, cpu, cuda or cuda:N")
      ->capture_default_str();
}

void add_figure_formats(CLI::App& verb, std::vector<std::string>& formats) {
  verb.add_option(
          "--format", formats,
          "Formats of the figure: png, svg, pdf, several with commas; json: only the specification")
      ->delimiter(',')
      ->check(CLI::IsMember({"png", "svg", "pdf", "json"}))
      ->capture_default_str();
}

void add_text_arguments(CLI::App& verb, TextArguments& arguments, CaptureOptions& options) {
  add_corpus_arguments(verb, options.corpus, arguments.dataset);
  verb.add_option("--out", options.out, "Folder to write; must be new or empty")->required();
  verb.add_option(
      "--tokenizer", options.tokenizer,
      "tokenizer.json, its folder, or a Hub model [default: in the folder of the weights]");
  verb.add_option("--label", options.label,
                  "Name of this checkpoint [default: the folder's name or the revision]");
  verb.add_flag("--chunk", options.chunk,
                "Cut long texts into several documents of the context's length [default: use only "
                "their beginning]");
  verb.add_option("--documents", options.documents, "Documents to read [default: all]")
      ->check(whole_number(1));
  verb.add_option("--min-tokens", options.min_tokens,
                  "Shortest document to take, in tokens [default: the context]")
      ->check(whole_number(1));
  verb.add_option("--shard", arguments.shard,
                  "Read only part i of n, given as i/n with i from 0; join the parts with merge");
}

void finish_text_arguments(const TextArguments& arguments, const ModelArguments& model,
                           CaptureOptions& options, Communicator& processes) {
  name_dataset(options.corpus, arguments.dataset);
  // A shard is measured by one process, even under a launcher.
  if (arguments.shard.empty()) {
    processes = join_processes();
  } else {
    options.shard = parse_shard(arguments.shard);
  }
  options.model = model.parse(processes);
  processes.first_before_others([&] { locate_model(options.model, model.revision); });
  if (options.label.empty()) options.label = default_label(options.model);
}

}  // namespace ropewalk::cli
