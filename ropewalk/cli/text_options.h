#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ropewalk/cli/options.h"
#include "ropewalk/study/ablation/captured_model.h"
#include "ropewalk/study/capture/capture.h"

namespace ropewalk::cli {

// Adds the options that name a corpus and the fields that are read from it.
void add_corpus_arguments(CLI::App& verb, CorpusSource& corpus, DatasetName& dataset);
// To be called after parsing: a Hub URI without a file is a dataset.
void name_dataset(CorpusSource& corpus, DatasetName dataset);

// The options of verbs that run a capture's model again, besides those of its corpus.
struct RerunArguments {
  CapturedModelOptions& model;
  std::optional<std::filesystem::path>& tokenizer;
  std::optional<int64_t>& documents;
  bool& chunk;
};
void add_rerun_arguments(CLI::App& verb, const RerunArguments& arguments);

// The formats of a verb's one figure.
void add_figure_formats(CLI::App& verb, std::vector<std::string>& formats);

// The options, besides the model's, of verbs that run text through a model: the corpus, which part
// of it is read, and where the result is written.
struct TextArguments {
  DatasetName dataset;
  std::string shard;
};
void add_text_arguments(CLI::App& verb, TextArguments& arguments, CaptureOptions& options);

// To be called after parsing: joins the processes of the job, finds the model, and completes
// `options`.
void finish_text_arguments(const TextArguments& arguments, const ModelArguments& model,
                           CaptureOptions& options, Communicator& processes);

}  // namespace ropewalk::cli
