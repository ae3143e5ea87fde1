#pragma once

#include <filesystem>
#include <optional>

#include "ropewalk/study/source/dataset.h"
#include "ropewalk/text/documents.h"

namespace ropewalk {

// Where a corpus is.
struct CorpusSource {
  // A file or folder, or hf://datasets/org/name/FILE, also org/name@revision, which is fetched.
  std::filesystem::path path;
  std::optional<DatasetName> dataset;  // instead of a path
  CorpusOptions fields;
};

// Its documents; `found` becomes the dataset, where it is one.
DocumentSet read_source_documents(const CorpusSource& corpus,
                                  const std::optional<std::filesystem::path>& tokenizer,
                                  const DocumentOptions& options, std::optional<Dataset>& found);

}  // namespace ropewalk
