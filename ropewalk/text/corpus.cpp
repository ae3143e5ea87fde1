#include "ropewalk/text/corpus.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/base/printable.h"
#include "ropewalk/base/utf8.h"
#include "ropewalk/text/corpus_formats.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

class MemoryCorpus : public CorpusReader {
 public:
  explicit MemoryCorpus(std::vector<CorpusEntry> entries) : entries_(std::move(entries)) {}

  std::optional<CorpusEntry> next() override {
    if (next_ == entries_.size()) return std::nullopt;
    return std::move(entries_[next_++]);
  }

  std::string name() const override { return "corpus"; }

 private:
  std::vector<CorpusEntry> entries_;
  size_t next_ = 0;
};

}  // namespace

std::unique_ptr<CorpusReader> open_corpus(const fs::path& path, const CorpusOptions& options) {
  std::error_code ignored;
  const bool text = fs::is_directory(path, ignored) || has_suffix(path, ".txt");
  if (text && !(options.field.empty() && options.id.empty())) {
    throw UsageError("{}: text files have no fields; drop the corpus's field and id",
                     path.string());
  }
  if (text) return open_text_corpus(path);
  if (has_suffix(path, ".jsonl")) return open_jsonl_corpus(path, false, options);
  if (has_suffix(path, ".jsonl.gz")) return open_jsonl_corpus(path, true, options);
  if (has_suffix(path, ".parquet")) return open_parquet_corpus(path, options);
  throw InputError(
      "{}: unknown kind of corpus; expected .txt, a folder of .txt, .jsonl, .jsonl.gz or .parquet",
      path.string());
}

std::unique_ptr<CorpusReader> corpus_from(std::vector<CorpusEntry> entries) {
  return std::make_unique<MemoryCorpus>(std::move(entries));
}

bool has_suffix(const fs::path& path, std::string_view suffix) {
  const std::string name = path.filename().string();
  if (name.size() < suffix.size()) return false;
  return std::equal(
      suffix.begin(), suffix.end(), name.end() - static_cast<std::ptrdiff_t>(suffix.size()),
      [](char wanted, char c) { return wanted == (c >= 'A' && c <= 'Z' ? c + 32 : c); });
}

FieldContent field_content(const CorpusOptions& options, const std::string& field) {
  if (!options.field.empty()) return FieldContent::either;
  return field == "tokens" ? FieldContent::tokens : FieldContent::text;
}

std::string quoted_list(const std::vector<std::string>& names) {
  constexpr size_t kShown = 12;
  constexpr size_t kLongest = 60;  // bytes; a name of the user's may be of any length
  if (names.empty()) return "nothing";
  std::string list;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i) {
    list += fmt::format("{}'{}'", i == 0 ? "" : ", ", printable_excerpt(names[i], kLongest));
  }
  if (names.size() > kShown) list += fmt::format(" and {} more", names.size() - kShown);
  return list;
}

std::string checked_text(std::string text, const std::string& where) {
  require_utf8(text, where);
  return text;
}

int32_t checked_token(int64_t token, size_t index, const std::string& where) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (token < 0 || token > kMost) {
    throw InputError("{}: token {} is {}; expected an id from 0 to {}", where, index, token, kMost);
  }
  return static_cast<int32_t>(token);
}

}  // namespace ropewalk
