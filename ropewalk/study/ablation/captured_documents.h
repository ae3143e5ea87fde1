#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "ropewalk/analysis/ablation/edit_effect.h"
#include "ropewalk/moments/capture_info.h"
#include "ropewalk/study/source/corpus_source.h"
#include "ropewalk/study/source/open_model.h"

namespace ropewalk {

// The documents on which the model of a capture is run again.
struct CapturedDocumentsOptions {
  CorpusSource corpus;  // fields that it does not name are taken from the capture
  std::optional<std::filesystem::path> tokenizer;  // default: the capture's
  bool chunk = false;                              // cut texts into documents
  std::optional<int64_t> documents;                // default: all that are long enough
};

struct CapturedDocuments {
  DocumentSet set;
  std::string corpus;  // the corpus's name in errors
};

// Documents of the model's context. `source` names the capture in errors. Throws InputError where
// its tokenizer was another one.
CapturedDocuments read_for_capture(const CapturedDocumentsOptions& options,
                                   const CaptureInfo& capture, const std::string& source,
                                   const OpenModel& model);

// The lengths of documents, and which of them are pieces of one text.
LossDocuments loss_documents(const DocumentSet& documents);

}  // namespace ropewalk
