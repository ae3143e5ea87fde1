#include "ropewalk/study/ablation/captured_documents.h"

#include <algorithm>

#include "ropewalk/base/error.h"
#include "ropewalk/base/log.h"
#include "ropewalk/base/units.h"
#include "ropewalk/checkpoint/tokenizer_files.h"
#include "ropewalk/study/source/locate.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

std::optional<fs::path> tokenizer_of(const CapturedDocumentsOptions& options,
                                     const CaptureInfo& capture, const OpenModel& model) {
  if (options.tokenizer) return locate_tokenizer(*options.tokenizer);
  if (capture.source && !capture.source->tokenizer.empty()) {
    return locate_tokenizer(capture.source->tokenizer);
  }
  const fs::path folder = model.checkpoint->folder();
  if (holds_tokenizer(folder)) return folder;
  return std::nullopt;
}

}  // namespace

CapturedDocuments read_for_capture(const CapturedDocumentsOptions& options,
                                   const CaptureInfo& capture, const std::string& source,
                                   const OpenModel& model) {
  CorpusSource corpus = options.corpus;
  if (capture.source) {
    if (corpus.fields.field.empty()) corpus.fields.field = capture.source->field;
    if (corpus.fields.id.empty()) corpus.fields.id = capture.source->id;
  }
  DocumentOptions wanted;
  wanted.context = model.context;
  wanted.documents = options.documents;
  wanted.vocabulary_size = static_cast<int32_t>(model.known_words());
  wanted.chunk = options.chunk;
  wanted.blocks = std::max<int64_t>(capture.blocks, 1);
  std::optional<Dataset> dataset;
  CapturedDocuments read;
  read.set = read_source_documents(corpus, tokenizer_of(options, capture, model), wanted, dataset);
  read.corpus = dataset ? dataset->title() : corpus.path.string();
  const std::string& digest = read.set.tokenizer_digest;
  if (!capture.tokenizer.empty() && !digest.empty() && capture.tokenizer != digest) {
    throw InputError("{}: was made with another tokenizer; name that one with --tokenizer", source);
  }
  log::info("{}, {} tokens; {}",
            format_number_of(static_cast<int64_t>(read.set.documents.size()), "document"),
            read.set.total_tokens, read.set.describe_skipped());
  return read;
}

LossDocuments loss_documents(const DocumentSet& documents) {
  LossDocuments made;
  for (const Document& document : documents.documents) {
    made.groups.push_back(document.cluster.value_or(document.index));
    made.tokens.push_back(static_cast<int64_t>(document.tokens.size()));
  }
  return made;
}

}  // namespace ropewalk
