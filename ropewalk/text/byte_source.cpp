#include "ropewalk/text/byte_source.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

class PlainSource : public ByteSource {
 public:
  explicit PlainSource(const std::filesystem::path& path) : path_(path.string()) {
    std::error_code ignored;
    if (std::filesystem::is_fifo(path, ignored)) {  // a pipe may never end
      throw InputError("{}: is a pipe, expected a file", path_);
    }
    file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file_ < 0) throw SystemError("{}: cannot open: {}", path_, std::strerror(errno));
  }
  ~PlainSource() override { ::close(file_); }
  PlainSource(const PlainSource&) = delete;
  PlainSource& operator=(const PlainSource&) = delete;

  size_t read(char* data, size_t size) override {
    for (;;) {
      const ssize_t count = ::read(file_, data, size);
      if (count >= 0) return static_cast<size_t>(count);
      if (errno != EINTR) throw SystemError("{}: cannot read: {}", path_, std::strerror(errno));
    }
  }

 private:
  std::string path_;
  int file_ = -1;
};

}  // namespace

std::unique_ptr<ByteSource> open_source(const std::filesystem::path& path,
                                        Compression compression) {
  return open_source(open_plain_source(path), path.string(), compression);
}

std::unique_ptr<ByteSource> open_source(std::unique_ptr<ByteSource> bytes, const std::string& name,
                                        Compression compression) {
  switch (compression) {
    case Compression::gzip:
      return open_gzip_source(std::move(bytes), name);
    case Compression::zstd:
      return open_zstd_source(std::move(bytes), name);
    default:
      return bytes;
  }
}

std::unique_ptr<ByteSource> open_plain_source(const std::filesystem::path& path) {
  return std::make_unique<PlainSource>(path);
}

}  // namespace ropewalk
