// What libFuzzer and the replaying driver call: hands the bytes to the target as a file in memory.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "ropewalk/base/error.h"
#include "tests/fuzz/target.h"

namespace ropewalk::fuzz {

void require(bool promise, const char* what) {
  if (promise) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

namespace {

int memory_file() {
  // Arrow's own allocator would hide from the sanitizer what is read beyond a buffer.
  ::setenv("ARROW_DEFAULT_MEMORY_POOL", "system", 1);
  const int file = ::memfd_create("input", MFD_CLOEXEC);
  require(file >= 0, "a file in memory can be made");
  return file;
}

}  // namespace
}  // namespace ropewalk::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ropewalk;
  static const int file = fuzz::memory_file();
  static const std::filesystem::path path = "/proc/self/fd/" + std::to_string(file);
  fuzz::require(::ftruncate(file, 0) == 0 && ::pwrite(file, data, size, 0) == ssize_t(size),
                "a file in memory can be written");
  try {
    fuzz::read({{reinterpret_cast<const char*>(data), size}, path});
  } catch (const InputError&) {
  } catch (const UsageError&) {
  } catch (const SystemError&) {
  }
  return 0;
}
