#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ropewalk/text/byte_source.h"

namespace ropewalk {

// The longest line or document accepted, in bytes: far more than any context needs, far less than
// memory holds.
inline constexpr size_t kMaxDocumentBytes = size_t{64} << 20;

// Splits a source into lines, with one line in memory at a time.
class LineReader {
 public:
  // `name` is the file, for messages.
  LineReader(std::unique_ptr<ByteSource> source, std::string name);

  // Reads the next line without its end ("
  // " or "\r
  // ") into `line`; returns false at the end of the file. A byte order mark before the first line
  // is dropped. Throws InputError where a line exceeds kMaxDocumentBytes.
  bool next(std::string& line);
  // The position of the line that was read last: "corpus.jsonl:17".
  std::string where() const;
  const std::string& name() const { return name_; }

 private:
  std::unique_ptr<ByteSource> source_;
  std::string name_;
  std::vector<char> buffer_;
  size_t begin_ = 0;  // start of the unread part of buffer_
  size_t end_ = 0;
  int64_t number_ = 0;  // lines read so far
};

}  // namespace ropewalk
