#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/base/processes/interrupt.h"
#include "ropewalk/base/units.h"
#include "ropewalk/base/utf8.h"
#include "ropewalk/text/corpus_formats.h"
#include "ropewalk/text/line_reader.h"

namespace ropewalk {
namespace {

// Turns Windows line ends into "
// ", as every program does that opens the file as text.
std::string with_unix_lines(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') continue;
    result += text[i];
  }
  return result;
}

std::string read_all(ByteSource& source, const std::string& where) {
  std::string bytes;
  std::vector<char> buffer(1 << 18);
  while (const size_t count = source.read(buffer.data(), buffer.size())) {
    throw_if_interrupted();
    bytes.append(buffer.data(), count);
    if (bytes.size() > kMaxDocumentBytes) {
      throw InputError("{}: is longer than {}; expected one document; cut it into several files",
                       where, format_bytes(static_cast<int64_t>(kMaxDocumentBytes)));
    }
  }
  return bytes;
}

// A text file as a corpus of one document.
class TextCorpus : public CorpusReader {
 public:
  TextCorpus(const std::filesystem::path& path, Compression compression)
      : name_(path.string()), source_(open_source(path, compression)) {}

  std::string name() const override { return name_; }

  std::optional<CorpusEntry> next() override {
    if (!source_) return std::nullopt;
    CorpusEntry entry;
    entry.where = name_;
    const std::string bytes = read_all(*source_, name_);
    source_.reset();
    // Checked before anything is dropped, so that the offset is the file's.
    require_utf8(bytes, entry.where);
    entry.content = with_unix_lines(without_bom(bytes));
    return entry;
  }

 private:
  std::string name_;
  std::unique_ptr<ByteSource> source_;  // null once it was read
};

}  // namespace

std::unique_ptr<CorpusReader> open_text_corpus(const std::filesystem::path& path,
                                               Compression compression) {
  return std::make_unique<TextCorpus>(path, compression);
}

}  // namespace ropewalk
