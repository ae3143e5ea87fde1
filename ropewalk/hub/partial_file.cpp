#include "ropewalk/hub/partial_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "ropewalk/base/error.h"
#include "ropewalk/base/processes/interrupt.h"
#include "ropewalk/hub/fetched.h"

namespace ropewalk {
namespace fs = std::filesystem;

fs::path partial_file_path(const fs::path& blob) {
  fs::path path = blob;
  path += ".incomplete";
  return path;
}

PartialFile::PartialFile(fs::path blob, std::string etag, int64_t size)
    : blob_(std::move(blob)),
      path_(partial_file_path(blob_)),
      etag_(std::move(etag)),
      expected_(size) {
  std::error_code ignored;
  fs::create_directories(path_.parent_path(), ignored);
  // O_NONBLOCK, so that opening a pipe of this name does not block.
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
  const bool link = file_ < 0 && errno == ELOOP;
  if (file_ < 0 && !link) fail("create");
  struct stat status {};
  if (link || ::fstat(file_, &status) != 0 || !S_ISREG(status.st_mode)) {
    if (!link) ::close(file_);
    throw SystemError("{}: is {}, expected a regular file; remove it", path_.string(),
                      link ? "a link, which is not followed" : "not a regular file");
  }
  start_hash();
}

PartialFile::~PartialFile() { ::close(file_); }

void PartialFile::start_hash() {
  const bool git = etag_.size() == 40;
  digest_.emplace(git ? Digest::Kind::sha1 : Digest::Kind::sha256);
  if (!git) return;
  digest_->update(fmt::format("blob {}", expected_));
  digest_->update("\0", 1);
}

void PartialFile::read_back() {
  std::array<char, 1 << 16> buffer{};
  for (;;) {
    throw_if_interrupted();
    const ssize_t count = ::pread(file_, buffer.data(), buffer.size(), size_);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("read");
    if (count == 0) return;
    digest_->update(buffer.data(), static_cast<size_t>(count));
    size_ += count;
    if (size_ > expected_) return restart();
  }
}

void PartialFile::restart() {
  if (::ftruncate(file_, 0) != 0) fail("write");
  start_hash();
  size_ = 0;
}

void PartialFile::append(std::string_view part) {
  digest_->update(part);
  while (!part.empty()) {
    const ssize_t count = ::pwrite(file_, part.data(), part.size(), size_);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("write");
    part.remove_prefix(static_cast<size_t>(count));
    size_ += count;
  }
}

std::string PartialFile::hash() { return digest_->hex(); }

void PartialFile::commit() {
  if (::fsync(file_) != 0) fail("write");
  note_fetched(blob_, path_);
  if (::rename(path_.c_str(), blob_.c_str()) != 0) fail("rename");
}

void PartialFile::fail(const char* action) const {
  throw SystemError("{}: cannot {}: {}", path_.string(), action, std::strerror(errno));
}

}  // namespace ropewalk
