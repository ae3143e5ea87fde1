#include "ropewalk/text/line_reader.h"

#include <algorithm>
#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/base/processes/interrupt.h"
#include "ropewalk/base/units.h"
#include "ropewalk/base/utf8.h"

namespace ropewalk {

LineReader::LineReader(std::unique_ptr<ByteSource> source, std::string name)
    : source_(std::move(source)), name_(std::move(name)), buffer_(1 << 18) {}

bool LineReader::next(std::string& line) {
  line.clear();
  ++number_;
  for (bool any = false;;) {
    if (begin_ == end_) {
      throw_if_interrupted();  // a few compressed bytes may hold a huge number of empty lines
      begin_ = 0;
      end_ = source_->read(buffer_.data(), buffer_.size());
      if (end_ == 0 && !any) return false;
      if (end_ == 0) break;
    }
    any = true;
    const auto first = buffer_.begin() + static_cast<std::ptrdiff_t>(begin_);
    const auto last = buffer_.begin() + static_cast<std::ptrdiff_t>(end_);
    const auto newline = std::find(first, last, '\n');
    if (line.size() + static_cast<size_t>(newline - first) > kMaxDocumentBytes) {
      throw InputError("{}: line is longer than {}; expected one document per line", where(),
                       format_bytes(static_cast<int64_t>(kMaxDocumentBytes)));
    }
    line.append(first, newline);
    begin_ = static_cast<size_t>(newline - buffer_.begin());
    if (newline != last) {
      ++begin_;
      break;
    }
  }
  if (line.ends_with('\r')) line.pop_back();
  if (number_ == 1) line.erase(0, line.size() - without_bom(line).size());
  return true;
}

std::string LineReader::where() const { return fmt::format("{}:{}", name_, number_); }

}  // namespace ropewalk
