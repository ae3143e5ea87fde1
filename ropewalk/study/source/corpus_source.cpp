#include "ropewalk/study/source/corpus_source.h"

#include "ropewalk/base/error.h"
#include "ropewalk/base/log.h"
#include "ropewalk/base/units.h"
#include "ropewalk/study/source/hub_uri.h"
#include "ropewalk/study/source/locate.h"
#include "ropewalk/text/tokenizer.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

fs::path fetch_file(const std::string& text) {
  const HubUri uri = parse_hub_uri(text, "hf://datasets/org/name/file.parquet");
  if (uri.inside.empty()) {
    throw InputError(
        "{}: has no file name; write hf://datasets/org/name/file.parquet, or name the whole "
        "dataset",
        text);
  }
  Hub& hub = shared_hub();
  const std::string commit = hub.commit(uri.repository, uri.revision, uri.inside);
  const fs::path there = hub.fetch(uri.repository, commit, uri.inside, {uri.inside, true, {}});
  if (!there.empty()) return there;
  throw InputError("{}: {}", text,
                   hub.settings().offline ? "is not in the cache, and HF_HUB_OFFLINE is set"
                                          : "the dataset does not have this file");
}

}  // namespace

DocumentSet read_source_documents(const CorpusSource& corpus,
                                  const std::optional<fs::path>& tokenizer,
                                  const DocumentOptions& options, std::optional<Dataset>& found) {
  if (!corpus.dataset) {
    const std::string path = corpus.path.string();
    DocumentSet documents = read_documents(is_hub_uri(path) ? fetch_file(path) : corpus.path,
                                           corpus.fields, tokenizer, options);
    if (tokenizer) documents.tokenizer_path = tokenizer->string();
    return documents;
  }
  found = find_dataset(shared_hub(), *corpus.dataset);
  int64_t size = 0;
  for (const HubFile& file : found->files) size += file.size;
  log::info("{}: {} in {} at commit {}", found->title(), format_bytes(size),
            format_number_of(static_cast<int64_t>(found->files.size()), "file"), found->commit);
  std::optional<Tokenizer> known;
  if (tokenizer) known = Tokenizer::from_file(*tokenizer);
  const OpenDataset dataset = open_dataset(shared_hub(), *found, corpus.fields);
  DocumentSet documents = select_documents(*dataset.entries, known ? &*known : nullptr, options);
  if (tokenizer) documents.tokenizer_path = tokenizer->string();
  log::info("{}: {} downloaded", found->title(), format_bytes(dataset.bytes_requested()));
  return documents;
}

}  // namespace ropewalk
