#include "ropewalk/base/files/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/direct_reading.h"
#include "ropewalk/base/processes/last_resort.h"
#include "ropewalk/base/units.h"

namespace ropewalk {

MappedFile::MappedFile(const std::filesystem::path& path) : path_(path) {
  // O_NONBLOCK, because opening a pipe would wait for its writer.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) throw SystemError("{}: cannot open: {}", path.string(), std::strerror(errno));
  if (::fstat(file, &status_) != 0 || !S_ISREG(status_.st_mode)) {
    ::close(file);
    throw SystemError("{}: is not a regular file", path.string());
  }
  size_ = status_.st_size;
  if (size_ > 0) {
    void* address = ::mmap(nullptr, static_cast<size_t>(size_), PROT_READ, MAP_PRIVATE, file, 0);
    if (address == MAP_FAILED) {
      const int error = errno;
      ::close(file);
      throw SystemError("{}: cannot map {}: {}", path.string(), format_bytes(size_),
                        std::strerror(error));
    }
    data_ = static_cast<const std::byte*>(address);
    remember_mapping(data_, static_cast<size_t>(size_), path_.c_str());
  }
  ::close(file);
}

MappedFile::~MappedFile() {
  if (data_ == nullptr) return;
  forget_mapping(data_);
  ::munmap(const_cast<std::byte*>(data_), static_cast<size_t>(size_));
}

namespace {

bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

bool written_to(const struct stat& before, const struct stat& now) {
  const auto same = [](const timespec& a, const timespec& b) {
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
  };
  // The time of the last write can be set back, the time of the last change cannot; a new hard link
  // changes it too.
  const bool changed = now.st_nlink == before.st_nlink && !same(now.st_ctim, before.st_ctim);
  return now.st_size != before.st_size || !same(now.st_mtim, before.st_mtim) || changed;
}

}  // namespace

bool is_same_content(const struct stat& before, const struct stat& now) {
  return same_file(now, before) && !written_to(before, now);
}

void MappedFile::require_unchanged() const {
  struct stat now {};
  if (::stat(path_.c_str(), &now) != 0 || !same_file(now, status_)) return;
  if (written_to(status_, now)) {
    throw InputError("{}: was written to while it was being read; wait until it is complete",
                     path_.string());
  }
}

bool MappedFile::is_current() const {
  struct stat now {};
  return ::stat(path_.c_str(), &now) == 0 && is_same_content(status_, now);
}

void MappedFile::read_directly() {
  if (data_ != nullptr) direct_ = std::make_unique<DirectReading>(path_, status_, data_);
}

namespace {

void advise(const std::byte* data, int64_t offset, int64_t size, int advice) {
  if (data == nullptr || size <= 0) return;
  static const int64_t page = ::sysconf(_SC_PAGESIZE);
  const int64_t begin = offset / page * page;
  ::madvise(const_cast<std::byte*>(data) + begin, static_cast<size_t>(offset + size - begin),
            advice);
}

}  // namespace

void MappedFile::will_need(int64_t offset, int64_t size) const {
  if (!direct_) advise(data_, offset, size, MADV_WILLNEED);
}

void MappedFile::release(int64_t offset, int64_t size) const {
  if (!direct_) advise(data_, offset, size, MADV_DONTNEED);
}

std::string read_text_file(const std::filesystem::path& path, int64_t limit) {
  const MappedFile file(path);
  if (file.size() > limit) {
    throw InputError("{}: has {}, expected at most {}", path.string(), format_bytes(file.size()),
                     format_bytes(limit));
  }
  std::string text(file.text());
  file.require_unchanged();
  return text;
}

}  // namespace ropewalk
