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

// The kind of a file, by the end of its name in upper or lower case.
struct CorpusKind {
  enum class Format { text, jsonl, parquet } format = Format::text;
  Compression compression = Compression::none;

  bool has_fields() const { return format != Format::text; }
};
std::optional<CorpusKind> corpus_kind(const std::filesystem::path& path);

// All kinds, for messages.
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
// Reads all files of a folder and of the folders in it, sorted by their path within it. Hidden
// files and other kinds are left out; links are followed, and each folder is read once.
std::unique_ptr<CorpusReader> open_folder_corpus(const std::filesystem::path& folder,
                                                 const CorpusOptions& options);

// Reads several corpora one after another and opens each in its turn; `name` is for messages.
using OpenCorpus = std::function<std::unique_ptr<CorpusReader>()>;
std::unique_ptr<CorpusReader> open_concatenated(std::string name, std::vector<OpenCorpus> parts);

// Throws UsageError where fields are named: a text file has none.
void refuse_fields(const std::filesystem::path& path, const CorpusOptions& options);

// The content that a field or column may hold. A default name says which; a name that the user
// chose may hold either.
enum class FieldContent { text, tokens, either };
FieldContent field_content(const CorpusOptions& options, const std::string& field);

// "'a', 'b', 'c'": the first dozen of the existing names, for messages.
std::string quoted_list(const std::vector<std::string>& names);

// Advice for a corpus whose ids are unusable, for messages.
inline constexpr std::string_view kWithoutIds =
    "; name another field, or none: documents then get numbers as ids";

// Checks that all readers share; both throw InputError naming `where`.
std::string checked_text(std::string text, const std::string& where);
int32_t checked_token(int64_t token, size_t index, const std::string& where);

}  // namespace ropewalk
