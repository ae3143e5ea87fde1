#include <zstd.h>
#include <zstd_errors.h>

#include <utility>
#include <vector>

#include "ropewalk/base/error.h"
#include "ropewalk/base/units.h"
#include "ropewalk/text/byte_source.h"

namespace ropewalk {
namespace {

// A frame states the memory that it needs, up to terabytes. This is zstd's own default limit.
constexpr int kLargestWindowLog = 27;

class ZstdSource : public ByteSource {
 public:
  ZstdSource(std::unique_ptr<ByteSource> bytes, std::string name)
      : path_(std::move(name)),
        file_(std::move(bytes)),
        input_(ZSTD_DStreamInSize()),
        stream_(ZSTD_createDStream()) {
    if (!stream_ || ZSTD_isError(ZSTD_DCtx_setParameter(stream_.get(), ZSTD_d_windowLogMax,
                                                        kLargestWindowLog)) != 0) {
      throw SystemError("{}: zstd cannot start", path_);
    }
  }

  size_t read(char* data, size_t size) override {
    ZSTD_outBuffer out{data, size, 0};
    while (out.pos == 0) {
      const bool more = fill();
      if (!more && !in_frame_) {
        if (!any_frame_) throw InputError("{}: is empty; expected zstd data", path_);
        return 0;
      }
      const size_t result = ZSTD_decompressStream(stream_.get(), &out, &unread_);
      if (ZSTD_isError(result) != 0) refuse(result);
      in_frame_ = result != 0;
      any_frame_ = any_frame_ || !in_frame_ || out.pos > 0;
      if (!more && in_frame_ && out.pos == 0) {
        throw InputError("{}: zstd data ends too early: the file is cut short", path_);
      }
    }
    return out.pos;
  }

 private:
  // Fetches input; returns false at the end of the file.
  bool fill() {
    if (unread_.pos < unread_.size) return true;
    unread_ = {input_.data(), file_->read(input_.data(), input_.size()), 0};
    return unread_.size > 0;
  }

  [[noreturn]] void refuse(size_t result) const {
    switch (ZSTD_getErrorCode(result)) {
      case ZSTD_error_prefix_unknown:
        throw InputError(
            "{}: {}; expected zstd data", path_,
            any_frame_ ? "other bytes follow the zstd data" : "is not zstd-compressed");
      case ZSTD_error_frameParameter_windowTooLarge:
        throw InputError(
            "{}: its zstd window is larger than {}; compress it again without --long, or with "
            "--long={}",
            path_, format_bytes(int64_t{1} << kLargestWindowLog), kLargestWindowLog);
      case ZSTD_error_memory_allocation:
        throw SystemError("{}: zstd has no memory", path_);
      default:
        throw InputError("{}: damaged zstd data: {}", path_, ZSTD_getErrorName(result));
    }
  }

  struct StreamDeleter {
    void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
  };

  std::string path_;
  std::unique_ptr<ByteSource> file_;
  std::vector<char> input_;
  std::unique_ptr<ZSTD_DStream, StreamDeleter> stream_;
  ZSTD_inBuffer unread_{nullptr, 0, 0};
  bool in_frame_ = false;   // between a frame's header and its end
  bool any_frame_ = false;  // at least one frame has begun
};

}  // namespace

std::unique_ptr<ByteSource> open_zstd_source(std::unique_ptr<ByteSource> bytes, std::string name) {
  return std::make_unique<ZstdSource>(std::move(bytes), std::move(name));
}

}  // namespace ropewalk
