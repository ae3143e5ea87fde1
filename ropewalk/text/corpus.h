#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace ropewalk {

// One entry of a corpus, as read.
struct CorpusEntry {
  // The text, or token ids to use verbatim. An empty or null row is an entry too, with empty
  // content.
  std::variant<std::string, std::vector<int32_t>> content;
  std::variant<std::monostate, int64_t, std::string> id;  // as in the file; empty where it has none
  std::string where;                                      // "corpus.jsonl:17", for messages
};

struct CorpusOptions {
  std::string field;  // text field or column; empty: "text", else "tokens"
  std::string id;     // id field or column; empty: "id" where it exists and holds integers or text
};

// Reads entries one after another and keeps none of them.
class CorpusReader {
 public:
  virtual ~CorpusReader() = default;
  // The next entry, or nothing at the end. Throws InputError, naming where, on a malformed entry.
  virtual std::optional<CorpusEntry> next() = 0;
  // The file or folder, for messages.
  virtual std::string name() const = 0;
};

// Opens .txt (one document), .jsonl, both also with .gz or .zst, .parquet (row group by row group),
// or a folder of such files and folders, read in sorted order.
std::unique_ptr<CorpusReader> open_corpus(const std::filesystem::path& path,
                                          const CorpusOptions& options = {});

}  // namespace ropewalk
