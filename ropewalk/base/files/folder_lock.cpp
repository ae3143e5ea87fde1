#include "ropewalk/base/files/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <string>
#include <string_view>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/atomic_file.h"
#include "ropewalk/base/printable.h"

namespace ropewalk {
namespace {

constexpr const char* kName = ".lock";
constexpr std::string_view kStart = "process ";
constexpr std::string_view kToken = "; temporary files: ";

std::string describe_self() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  std::array<char, 64> when{};
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  std::strftime(when.data(), when.size(), "%Y-%m-%d %H:%M:%S UTC", ::gmtime_r(&now, &utc));
  return fmt::format("{}{} on {}, since {}", kStart, ::getpid(), host.data(), when.data());
}

}  // namespace

FolderLock::FolderLock(const std::filesystem::path& folder) : process_(::getpid()) {
  std::error_code error;
  if (std::filesystem::is_symlink(folder, error) && !std::filesystem::exists(folder, error)) {
    throw SystemError("{}: is a link to nothing; remove it, or name another folder",
                      folder.string());
  }
  std::filesystem::create_directories(folder, error);
  if (error) throw SystemError("{}: cannot create folder: {}", folder.string(), error.message());
  const std::filesystem::path path = folder / kName;
  // Refuse symlinks and pipes.
  file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
  if (file_ < 0 && errno != ELOOP) {
    throw SystemError("{}: cannot create: {}", path.string(), std::strerror(errno));
  }
  struct stat status {};
  if (file_ < 0 || ::fstat(file_, &status) != 0 || !S_ISREG(status.st_mode)) {
    if (file_ >= 0) ::close(file_);
    throw SystemError(
        "{}: is a link, a pipe or a folder, expected a regular file; move it away, or name another "
        "folder",
        path.string());
  }
  if (::flock(file_, LOCK_EX | LOCK_NB) != 0) {
    const int why = errno;
    std::array<char, 400> holder{};
    const ssize_t size = ::pread(file_, holder.data(), holder.size() - 1, 0);
    ::close(file_);
    if (why != EWOULDBLOCK) {
      throw SystemError("{}: cannot lock: {}", path.string(), std::strerror(why));
    }
    throw SystemError("{}: is in use by {}; wait for it, or name another folder", folder.string(),
                      size > 0
                          ? printable(std::string_view(holder.data())
                                          .substr(0, std::string_view(holder.data()).find(kToken)))
                          : std::string("another process"));
  }
  std::array<char, 400> text{};
  const ssize_t size = ::pread(file_, text.data(), text.size() - 1, 0);
  const std::string_view former(text.data(), size > 0 ? static_cast<size_t>(size) : 0);
  if (!former.empty() && !former.starts_with(kStart)) {
    ::close(file_);
    throw SystemError("{}: is not a lock of ropewalk; move it away, or name another folder",
                      path.string());
  }
  if (const size_t at = former.find(kToken); at != std::string_view::npos) {
    previous_token_ = former.substr(at + kToken.size());
  }
}

void FolderLock::sign() const {
  const std::string self = fmt::format("{}{}{}", describe_self(), kToken, temporary_token());
  // A failure to write the file is harmless: files of a killed run are then not recognised.
  if (::ftruncate(file_, 0) == 0) {
    [[maybe_unused]] const ssize_t written = ::pwrite(file_, self.data(), self.size(), 0);
  }
}

FolderLock::~FolderLock() {
  // close() alone would leave the lock to processes that were forked since and have the file open.
  if (::getpid() == process_) ::flock(file_, LOCK_UN);
  ::close(file_);
}

void require_unlocked(const std::filesystem::path& folder) {
  std::error_code ignored;
  if (!std::filesystem::exists(folder / kName, ignored)) return;
  const FolderLock free(folder);
}

}  // namespace ropewalk
