#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "ropewalk/cli/options.h"
#include "ropewalk/study/capture/capture.h"

namespace ropewalk::cli {

// Where a corpus is and which of its fields are read.
void add_corpus_arguments(CLI::App& verb, CorpusSource& corpus, DatasetName& dataset);
// Once they are parsed: a place on the Hub without a file is a dataset.
void name_dataset(CorpusSource& corpus, DatasetName dataset);

// What verbs that run text through a model share beside the model's options: the corpus, what is
// taken of it, where the result goes.
struct TextArguments {
  DatasetName dataset;
  std::string shard;
};
void add_text_arguments(CLI::App& verb, TextArguments& arguments, CaptureOptions& options);

// Once they are parsed: joins the processes of the job, finds the model, and completes `options`.
void finish_text_arguments(const TextArguments& arguments, const ModelArguments& model,
                           CaptureOptions& options, Communicator& processes);

}  // namespace ropewalk::cli
