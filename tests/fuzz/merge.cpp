#include "ropewalk/moments/files/merge.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "tests/fuzz/target.h"

namespace ropewalk::fuzz {
namespace {

// A file in memory.
class Part {
 public:
  explicit Part(const char* name)
      : file_(::memfd_create(name, MFD_CLOEXEC)), path_("/proc/self/fd/" + std::to_string(file_)) {}

  const std::filesystem::path& fill(std::string_view bytes) {
    require(::ftruncate(file_, 0) == 0 && ::pwrite(file_, bytes.data(), bytes.size(), 0) ==
                                              static_cast<ssize_t>(bytes.size()),
            "a file in memory can be written");
    return path_;
  }

 private:
  int file_;
  std::filesystem::path path_;
};

}  // namespace

// Two moments files after four bytes that state the length of the first.
void read(const Input& input) {
  static Part first("first"), second("second");
  uint32_t length = 0;
  if (input.bytes.size() < sizeof length) return;
  std::memcpy(&length, input.bytes.data(), sizeof length);
  const std::string_view both = input.bytes.substr(sizeof length);
  if (length > both.size()) return;
  std::string missing;
  const CaptureMoments merged = merge_moments(
      {{"first", first.fill(both.substr(0, length))}, {"second", second.fill(both.substr(length))}},
      missing);
  require(missing.size() < 1000, "what is missing is told in a few words");
  require(merged.counts.total_documents() == static_cast<int64_t>(merged.documents.size()),
          "every document is recorded");
  for (size_t i = 1; i < merged.documents.size(); ++i) {
    require(merged.documents[i - 1].index < merged.documents[i].index, "documents are in order");
  }
  for (const AccumulatedFields& kept : merged.accumulated) {
    total_of(*kept.accumulator, kept.blocks, merged.counts);
  }
}

}  // namespace ropewalk::fuzz
