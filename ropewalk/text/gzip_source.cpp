#include <zlib.h>

#include <utility>
#include <vector>

#include "ropewalk/base/error.h"
#include "ropewalk/text/byte_source.h"

namespace ropewalk {
namespace {

class GzipSource : public ByteSource {
 public:
  GzipSource(std::unique_ptr<ByteSource> bytes, std::string name)
      : path_(std::move(name)), file_(std::move(bytes)), input_(1 << 16) {
    constexpr int kGzipOnly = 15 + 16;  // the largest window; 16 selects gzip's header and checksum
    if (inflateInit2(&stream_, kGzipOnly) != Z_OK)
      throw SystemError("{}: zlib cannot start", path_);
  }
  ~GzipSource() override { inflateEnd(&stream_); }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;

  size_t read(char* data, size_t size) override {
    stream_.next_out = reinterpret_cast<Bytef*>(data);
    stream_.avail_out = static_cast<uInt>(size);
    while (stream_.avail_out == size) {
      if (!fill()) {
        if (in_member_)
          throw InputError("{}: gzip data ends too early: the file is cut short", path_);
        if (!any_member_) throw InputError("{}: is empty; expected gzip data", path_);
        return 0;
      }
      if (!in_member_ && !start_member()) continue;
      step();
    }
    return size - stream_.avail_out;
  }

 private:
  // Fetches input; returns false at the end of the file.
  bool fill() {
    if (stream_.avail_in > 0) return true;
    stream_.next_in = input_.data();
    stream_.avail_in =
        static_cast<uInt>(file_->read(reinterpret_cast<char*>(input_.data()), input_.size()));
    return stream_.avail_in > 0;
  }

  // Begins a member at the input's first byte; returns false for padding, which is skipped.
  bool start_member() {
    constexpr Bytef kFirstMagicByte = 0x1f;
    const Bytef first = *stream_.next_in;
    // Tapes and some tools pad with zeros after the last member; gzip and Python skip them too.
    if (any_member_ && first == 0) {
      ++stream_.next_in;
      --stream_.avail_in;
      return false;
    }
    if (first != kFirstMagicByte) {
      throw InputError("{}: {}; expected gzip data", path_,
                       any_member_ ? "other bytes follow the gzip data" : "is not gzip-compressed");
    }
    inflateReset(&stream_);
    in_member_ = any_member_ = true;
    return true;
  }

  void step() {
    const int result = inflate(&stream_, Z_NO_FLUSH);
    if (result == Z_STREAM_END) {
      in_member_ = false;
    } else if (result == Z_MEM_ERROR) {
      throw SystemError("{}: zlib has no memory", path_);
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      throw InputError("{}: damaged gzip data after {} decompressed bytes of a member: {}", path_,
                       stream_.total_out, stream_.msg != nullptr ? stream_.msg : "unknown error");
    }
  }

  std::string path_;
  std::unique_ptr<ByteSource> file_;
  std::vector<Bytef> input_;
  z_stream stream_{};
  bool in_member_ = false;   // between a member's header and its checksum
  bool any_member_ = false;  // at least one member has begun
};

}  // namespace

std::unique_ptr<ByteSource> open_gzip_source(std::unique_ptr<ByteSource> bytes, std::string name) {
  return std::make_unique<GzipSource>(std::move(bytes), std::move(name));
}

}  // namespace ropewalk
