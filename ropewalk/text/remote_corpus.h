#pragma once

#include <memory>
#include <optional>

#include "ropewalk/text/corpus_formats.h"

namespace ropewalk {

// The kind of a dataset's file, by its name: Parquet or JSON lines (.jsonl, .json; also .gz, .zst).
// Nothing where it is neither.
std::optional<CorpusKind> dataset_kind(const std::string& name);

// Reads a remote file on demand: for Parquet the footer and, row group by row group, the columns
// that are used; JSON lines from the first on.
std::unique_ptr<CorpusReader> open_remote_corpus(const std::shared_ptr<RemoteFile>& file,
                                                 const CorpusKind& kind,
                                                 const CorpusOptions& options);

}  // namespace ropewalk
