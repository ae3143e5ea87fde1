#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ropewalk/text/byte_source.h"
#include "ropewalk/text/corpus.h"

namespace ropewalk {

class RemoteFile;

// What a file is, by the end of its name, upper or lower case alike.
struct CorpusKind {
  enum class Format { text, jsonl, parquet } format = Format::text;
  Compression compression = Compression::none;

  bool has_fields() const { return format != Format::text; }
};
std::optional<CorpusKind> corpus_kind(const std::filesystem::path& path);

// Those there are, for messages.
inline constexpr std::string_view kCorpusKinds = ".txt, .jsonl (plain, .gz or .zst) or .parquet";

// The readers behind open_corpus. A text file is one document.
std::unique_ptr<CorpusReader> open_text_corpus(const std::filesystem::path& path,
                                               Compression compression);
std::unique_ptr<CorpusReader> open_jsonl_corpus(const std::filesystem::path& path,
                                                Compression compression,
                                                const CorpusOptions& options);
std::unique_ptr<CorpusReader> open_jsonl_corpus(std::unique_ptr<ByteSource> source,
                                                const std::string& name,
                                                const CorpusOptions& options);
std::unique_ptr<CorpusReader> open_parquet_corpus(const std::filesystem::path& path,
                                                  const CorpusOptions& options);
std::unique_ptr<CorpusReader> open_parquet_corpus(const std::shared_ptr<RemoteFile>& file,
                                                  const CorpusOptions& options);
std::unique_ptr<CorpusReader> open_corpus_file(const std::filesystem::path& path,
                                               const CorpusKind& kind,
                                               const CorpusOptions& options);
// All files of a folder and of those in it, sorted by their path within it. Hidden ones and other
// kinds are left out; links are followed, each folder once.
std::unique_ptr<CorpusReader> open_folder_corpus(const std::filesystem::path& folder,
                                                 const CorpusOptions& options);

// One reader after another, each opened when its turn comes; `name` is for messages.
using OpenCorpus = std::function<std::unique_ptr<CorpusReader>()>;
std::unique_ptr<CorpusReader> open_concatenated(std::string name, std::vector<OpenCorpus> parts);

// Text has no fields to choose: throws UsageError where some are named.
void refuse_fields(const std::filesystem::path& path, const CorpusOptions& options);

// What a field or column may hold. The default names say it; a name the user chose may hold either.
enum class FieldContent { text, tokens, either };
FieldContent field_content(const CorpusOptions& options, const std::string& field);

// "'a', 'b', 'c'": the names there are, for messages; the first dozen.
std::string quoted_list(const std::vector<std::string>& names);

// How a corpus is read whose ids are none, for messages.
inline constexpr std::string_view kWithoutIds =
    "; name another field, or none: then documents have numbers for ids";

// Checks that readers share; both throw InputError naming `where`.
std::string checked_text(std::string text, const std::string& where);
int32_t checked_token(int64_t token, size_t index, const std::string& where);

}  // namespace ropewalk
