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

std::unique_ptr<CorpusReader> open_corpus(const fs::path& path, const CorpusOptions& options) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return open_folder_corpus(path, options);
  const auto kind = corpus_kind(path);
  if (!kind) {
    throw InputError("{}: unknown kind of corpus; expected {}, or a folder of them", path.string(),
                     kCorpusKinds);
  }
  if (!kind->has_fields()) refuse_fields(path, options);
  return open_corpus_file(path, *kind, options);
}

std::unique_ptr<CorpusReader> open_corpus_file(const fs::path& path, const CorpusKind& kind,
                                               const CorpusOptions& options) {
  switch (kind.format) {
    case CorpusKind::Format::text:
      return open_text_corpus(path, kind.compression);
    case CorpusKind::Format::jsonl:
      return open_jsonl_corpus(path, kind.compression, options);
    default:
      return open_parquet_corpus(path, options);
  }
}

std::optional<CorpusKind> corpus_kind(const fs::path& path) {
  std::string name = path.filename().string();
  std::ranges::transform(name, name.begin(), [](char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  });
  if (name.ends_with(".parquet")) return CorpusKind{CorpusKind::Format::parquet};
  CorpusKind kind;
  if (name.ends_with(".gz")) kind.compression = Compression::gzip;
  if (name.ends_with(".zst")) kind.compression = Compression::zstd;
  if (kind.compression != Compression::none) name.resize(name.rfind('.'));
  if (name.ends_with(".txt")) return kind;
  kind.format = CorpusKind::Format::jsonl;
  if (name.ends_with(".jsonl")) return kind;
  return std::nullopt;
}

void refuse_fields(const fs::path& path, const CorpusOptions& options) {
  if (options.field.empty() && options.id.empty()) return;
  throw UsageError("{}: text files have no fields; remove the corpus's field and id",
                   path.string());
}

FieldContent field_content(const CorpusOptions& options, const std::string& field) {
  if (!options.field.empty()) return FieldContent::either;
  return field == "tokens" ? FieldContent::tokens : FieldContent::text;
}

std::string quoted_list(const std::vector<std::string>& names) {
  constexpr size_t kShown = 12;
  constexpr size_t kLongest = 60;  // bytes; a user's name may have any length
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
