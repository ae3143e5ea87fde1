#include "ropewalk/hub/fetched.h"

#include <sys/stat.h>
#include <unistd.h>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/atomic_file.h"
#include "ropewalk/base/files/mapped_file.h"
#include "ropewalk/base/log.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

fs::path note_name(const fs::path& blob) {
  return blob.parent_path().parent_path() / ".ropewalk" / blob.filename();
}

// Identifies a file apart from others that had the same name; empty where it is not a regular file
// of this user.
std::string identity(const fs::path& file) {
  struct stat status {};
  if (::lstat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return "";
  if (status.st_uid != ::geteuid()) return "";
  // Whole seconds, because network file systems may round the fraction later.
  return fmt::format("{} {} {}\n", status.st_ino, status.st_size, status.st_mtim.tv_sec);
}

}  // namespace

void note_fetched(const fs::path& blob, const fs::path& bytes) {
  const fs::path note = note_name(blob);
  std::error_code ignored;
  fs::create_directories(note.parent_path(), ignored);
  try {
    write_file_atomically(note, identity(bytes));
  } catch (const SystemError& error) {
    log::debug("{}; --evict will keep {}", error.what(), blob.string());
  }
}

bool was_fetched(const fs::path& blob) {
  const fs::path note = note_name(blob);
  const std::string there = identity(blob);
  std::error_code ignored;
  if (there.empty() || !fs::is_regular_file(fs::symlink_status(note, ignored))) return false;
  constexpr int64_t kLongest = 100;
  return fs::file_size(note, ignored) <= kLongest && read_text_file(note, kLongest) == there;
}

void forget_fetched(const fs::path& blob) {
  std::error_code ignored;
  fs::remove(note_name(blob), ignored);
}

}  // namespace ropewalk
