// Called by libFuzzer and by the replaying driver: passes the bytes to the target as a file in
// memory.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "ropewalk/base/error.h"
#include "ropewalk/base/printable.h"
#include "tests/fuzz/target.h"

namespace ropewalk::fuzz {

void require(bool promise, const char* what) {
  if (promise) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

namespace {

int memory_file() {
  // Arrow's own allocator would hide reads beyond a buffer from the sanitizer.
  ::setenv("ARROW_DEFAULT_MEMORY_POOL", "system", 1);
  const int file = ::memfd_create("input", MFD_CLOEXEC);
  require(file >= 0, "a file in memory can be made");
  return file;
}

// With FUZZ_SAY set, prints the error that an input causes.
void say(const std::exception& error) {
  static const bool wanted = std::getenv("FUZZ_SAY") != nullptr;
  if (wanted) std::fprintf(stderr, "%s\n", printable(error.what()).c_str());
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
  } catch (const InputError& error) {
    fuzz::say(error);
  } catch (const UsageError& error) {
    fuzz::say(error);
  } catch (const SystemError& error) {
    fuzz::say(error);
  }
  return 0;
}
