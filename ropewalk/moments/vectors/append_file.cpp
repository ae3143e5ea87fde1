#include "ropewalk/moments/vectors/append_file.h"

#include <arrow/status.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "ropewalk/base/error.h"

namespace ropewalk {

AppendFile::AppendFile(std::filesystem::path path) : path_(std::move(path)) {
  const int file = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) throw SystemError("{}: cannot create: {}", path_.string(), std::strerror(errno));
  ::close(file);
}

AppendFile::~AppendFile() {
  if (file_ >= 0) ::close(file_);
}

arrow::Status AppendFile::failure(const char* action, int error) const {
  return arrow::Status::IOError("cannot ", action, ": ", std::strerror(error));
}

arrow::Status AppendFile::Write(const void* data, int64_t size) {
  if (abandoned_ || closed_) return arrow::Status::IOError("an earlier write to this file failed");
  if (file_ < 0) {
    // No O_CREAT: a file that has vanished meanwhile has lost what was written.
    file_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    if (file_ < 0) return failure("open to append", errno);
  }
  const char* bytes = static_cast<const char*>(data);
  for (int64_t left = size; left > 0;) {
    const ssize_t written = ::write(file_, bytes, static_cast<size_t>(left));
    if (written < 0) {
      if (errno == EINTR) continue;
      return failure("write", errno);
    }
    bytes += written;
    left -= written;
    size_ += written;
  }
  return arrow::Status::OK();
}

arrow::Status AppendFile::release() {
  const int file = std::exchange(file_, -1);
  // Network file systems report a full disk only here.
  if (file >= 0 && ::close(file) != 0) return failure("write", errno);
  return arrow::Status::OK();
}

arrow::Status AppendFile::Close() {
  closed_ = true;
  return release();
}

}  // namespace ropewalk
