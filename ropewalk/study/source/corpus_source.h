#pragma once

#include <filesystem>
#include <optional>

#include "ropewalk/study/source/dataset.h"
#include "ropewalk/text/documents.h"

namespace ropewalk {

// The location of a corpus: a path or a dataset.
struct CorpusSource {
  // A file or folder, or hf://datasets/org/name/FILE (also org/name@revision), which is fetched.
  std::filesystem::path path;
  std::optional<DatasetName> dataset;  // instead of a path
  CorpusOptions fields;
};

// The corpus's documents; `found` becomes the dataset, if it is one.
DocumentSet read_source_documents(const CorpusSource& corpus,
                                  const std::optional<std::filesystem::path>& tokenizer,
                                  const DocumentOptions& options, std::optional<Dataset>& found);

}  // namespace ropewalk
