#include "ropewalk/base/files/scratch.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "ropewalk/base/error.h"
#include "ropewalk/base/units.h"

namespace ropewalk {
namespace {

// Creates a file without a name and allocates `size` bytes for it on disk: if a write to the
// mapping were the first to find the disk full, it would end the program.
int nameless_file(const std::filesystem::path& folder, int64_t size) {
  std::string name = (folder / ".scratch-XXXXXX").string();
  const int file = ::mkostemp(name.data(), O_CLOEXEC);
  if (file < 0) throw SystemError("{}: cannot create: {}", name, std::strerror(errno));
  ::unlink(name.c_str());
  if (const int error = ::posix_fallocate(file, 0, size); error != 0) {
    ::close(file);
    throw SystemError("{}: cannot take {} for moments: {}", folder.string(), format_bytes(size),
                      std::strerror(error));
  }
  return file;
}

int64_t page_size() {
  static const int64_t page = ::sysconf(_SC_PAGESIZE);
  return page;
}

}  // namespace

Scratch::Scratch(int64_t size, const std::optional<std::filesystem::path>& folder)
    : size_(size), file_(folder.has_value()) {
  if (size == 0) return;
  const int file = folder ? nameless_file(*folder, size) : -1;
  const int flags = folder ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
  void* address =
      ::mmap(nullptr, static_cast<size_t>(size), PROT_READ | PROT_WRITE, flags, file, 0);
  const int error = errno;
  if (file >= 0) ::close(file);
  if (address == MAP_FAILED) {
    throw SystemError("cannot get {} of memory for moments: {}", format_bytes(size),
                      std::strerror(error));
  }
  data_ = static_cast<std::byte*>(address);
#ifdef MADV_HUGEPAGE
  // Getting so much memory in small pages takes longer than filling it.
  if (!file_) ::madvise(address, static_cast<size_t>(size), MADV_HUGEPAGE);
#endif
}

Scratch::~Scratch() {
  if (data_ != nullptr) ::munmap(data_, static_cast<size_t>(size_));
}

void Scratch::take(int64_t offset, int64_t size) const {
#ifdef MADV_POPULATE_WRITE
  const int64_t begin = offset / page_size() * page_size();
  if (!file_) {
    ::madvise(data_ + begin, static_cast<size_t>(offset + size - begin), MADV_POPULATE_WRITE);
  }
#else
  static_cast<void>(offset + size);
#endif
}

void Scratch::release(int64_t offset, int64_t size) const {
  const int64_t page = page_size();
  const int64_t begin = (offset + page - 1) / page * page;
  const int64_t end = (offset + size) / page * page;
  if (!file_ || end <= begin) return;
  ::madvise(data_ + begin, static_cast<size_t>(end - begin), MADV_DONTNEED);
}

}  // namespace ropewalk
