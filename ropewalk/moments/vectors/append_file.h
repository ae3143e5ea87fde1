#pragma once

#include <arrow/io/interfaces.h>
#include <arrow/result.h>

#include <filesystem>

namespace ropewalk {

// A file that Arrow writes to. It is open only between the first write and `release`, so that
// thousands of files can be in progress with one descriptor in use. The file is created, or
// emptied, on construction.
class AppendFile : public arrow::io::OutputStream {
 public:
  // Throws SystemError where the file cannot be created.
  explicit AppendFile(std::filesystem::path path);
  ~AppendFile() override;

  arrow::Status Write(const void* data, int64_t size) override;
  using arrow::io::OutputStream::Write;
  arrow::Result<int64_t> Tell() const override { return size_; }
  arrow::Status Close() override;
  bool closed() const override { return closed_; }

  // Closes the descriptor; the next write opens the file again.
  arrow::Status release();
  // Refuses every later write, so that a file that failed half-way is not completed.
  void abandon() { abandoned_ = true; }

 private:
  arrow::Status failure(const char* action, int error) const;

  std::filesystem::path path_;
  int file_ = -1;  // -1: currently closed
  int64_t size_ = 0;
  bool closed_ = false;
  bool abandoned_ = false;
};

}  // namespace ropewalk
