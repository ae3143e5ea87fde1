#include <algorithm>
#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/base/mapped_file.h"
#include "ropewalk/base/utf8.h"
#include "ropewalk/text/corpus_formats.h"
#include "ropewalk/text/line_reader.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

// Windows line ends become "\n", as in every program that opens the file as text.
std::string with_unix_lines(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') continue;
    result += text[i];
  }
  return result;
}

class TextCorpus : public CorpusReader {
 public:
  TextCorpus(const fs::path& path, std::vector<fs::path> files)
      : name_(path.string()), files_(std::move(files)) {}

  std::string name() const override { return name_; }

  std::optional<CorpusEntry> next() override {
    if (next_ == files_.size()) return std::nullopt;
    const fs::path& path = files_[next_++];
    CorpusEntry entry;
    entry.where = path.string();
    const std::string bytes = read_text_file(path, static_cast<int64_t>(kMaxDocumentBytes));
    require_utf8(bytes,
                 entry.where);  // before anything is dropped, so that the offset is the file's
    entry.content = checked_text(with_unix_lines(without_bom(bytes)), entry.where);
    return entry;
  }

 private:
  std::string name_;
  std::vector<fs::path> files_;
  size_t next_ = 0;
};

bool is_text_file(const fs::path& path) {
  return has_suffix(path, ".txt") && !path.filename().string().starts_with('.');
}

std::vector<fs::path> text_files(const fs::path& folder) {
  std::vector<fs::path> files;
  std::vector<std::string> others;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (is_text_file(it->path())) {
      files.push_back(it->path());
    } else {
      others.push_back(it->path().filename().string());
    }
  }
  if (error) throw SystemError("{}: cannot list the folder: {}", folder.string(), error.message());
  std::ranges::sort(files);
  std::ranges::sort(others);
  if (files.empty()) {
    throw InputError(
        "{}: the folder holds no .txt file (it holds {}); name a .jsonl or .parquet file itself",
        folder.string(), quoted_list(others));
  }
  return files;
}

}  // namespace

std::unique_ptr<CorpusReader> open_text_corpus(const fs::path& path) {
  std::error_code ignored;
  const bool folder = fs::is_directory(path, ignored);
  return std::make_unique<TextCorpus>(path,
                                      folder ? text_files(path) : std::vector<fs::path>{path});
}

}  // namespace ropewalk
