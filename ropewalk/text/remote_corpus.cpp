#include "ropewalk/text/remote_corpus.h"

#include <utility>

#include "ropewalk/hub/remote_file.h"

namespace ropewalk {
namespace {

class RemoteSource : public ByteSource {
 public:
  explicit RemoteSource(std::shared_ptr<RemoteFile> file) : file_(std::move(file)) {}

  size_t read(char* data, size_t size) override {
    const int64_t count = file_->read(index_, data, static_cast<int64_t>(size));
    index_ += count;
    return static_cast<size_t>(count);
  }

 private:
  std::shared_ptr<RemoteFile> file_;
  int64_t index_ = 0;
};

}  // namespace

std::optional<CorpusKind> dataset_kind(const std::string& name) {
  std::optional<CorpusKind> kind = corpus_kind(name);
  if (!kind) {  // datasets use .json for JSON lines too
    const size_t json = name.rfind(".json");
    if (json != std::string::npos)
      kind = corpus_kind(name.substr(0, json) + ".jsonl" + name.substr(json + 5));
  }
  return kind && kind->has_fields() ? kind : std::nullopt;
}

std::unique_ptr<CorpusReader> open_remote_corpus(const std::shared_ptr<RemoteFile>& file,
                                                 const CorpusKind& kind,
                                                 const CorpusOptions& options) {
  if (kind.format == CorpusKind::Format::parquet) return open_parquet_corpus(file, options);
  return open_jsonl_corpus(
      open_source(std::make_unique<RemoteSource>(file), file->name(), kind.compression),
      file->name(), options);
}

}  // namespace ropewalk
