#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ropewalk/text/byte_source.h"

namespace ropewalk {

// Longest line or document accepted, in bytes: far above any context, far below what hurts.
inline constexpr size_t kMaxDocumentBytes = size_t{64} << 20;

// Splits a source into lines, one in memory at a time.
class LineReader {
 public:
  // `name` is the file, for messages.
  LineReader(std::unique_ptr<ByteSource> source, std::string name);

  // Reads the next line without its end ("\n" or "\r\n") into `line`; false at the end of the file.
  // A byte order mark before the first line is dropped. Throws InputError when a line exceeds
  // kMaxDocumentBytes.
  bool next(std::string& line);
  // Of the line read last: "corpus.jsonl:17".
  std::string where() const;
  const std::string& name() const { return name_; }

 private:
  std::unique_ptr<ByteSource> source_;
  std::string name_;
  std::vector<char> buffer_;
  size_t begin_ = 0;  // of the unread part of buffer_
  size_t end_ = 0;
  int64_t number_ = 0;  // lines read
};

}  // namespace ropewalk
