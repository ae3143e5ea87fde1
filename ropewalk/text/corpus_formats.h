#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ropewalk/text/corpus.h"

namespace ropewalk {

// The readers behind open_corpus, one a format.

// A file, or a folder whose .txt files are read sorted by name.
std::unique_ptr<CorpusReader> open_text_corpus(const std::filesystem::path& path);
std::unique_ptr<CorpusReader> open_jsonl_corpus(const std::filesystem::path& path, bool gzip,
                                                const CorpusOptions& options);
std::unique_ptr<CorpusReader> open_parquet_corpus(const std::filesystem::path& path,
                                                  const CorpusOptions& options);

// What a field or column may hold. The default names say it; a name the user chose may hold either.
enum class FieldContent { text, tokens, either };
FieldContent field_content(const CorpusOptions& options, const std::string& field);

// Whether a file's name ends so, upper or lower case alike. `suffix` is in lower case.
bool has_suffix(const std::filesystem::path& path, std::string_view suffix);

// "'a', 'b', 'c'": the names there are, for messages; the first dozen.
std::string quoted_list(const std::vector<std::string>& names);

// Checks that readers share; both throw InputError naming `where`.
std::string checked_text(std::string text, const std::string& where);
int32_t checked_token(int64_t token, size_t index, const std::string& where);

}  // namespace ropewalk
