#pragma once

#include <memory>
#include <optional>

#include "ropewalk/text/corpus_formats.h"

namespace ropewalk {

// What a file of a dataset is, by its name: Parquet or JSON lines (.jsonl, .json; also .gz, .zst).
// Nothing: none of these.
std::optional<CorpusKind> dataset_kind(const std::string& name);

// Reads a file elsewhere as it is needed: of Parquet the footer and, row group by row group, the
// columns that are read; JSON lines from the first on.
std::unique_ptr<CorpusReader> open_remote_corpus(const std::shared_ptr<RemoteFile>& file,
                                                 const CorpusKind& kind,
                                                 const CorpusOptions& options);

}  // namespace ropewalk
