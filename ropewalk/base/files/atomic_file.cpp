#include "ropewalk/base/files/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <list>
#include <random>
#include <system_error>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

constexpr const char* kMark = ".tmp-";

std::string& token() {
  static std::string own = fmt::format("{}-{:08x}", ::getpid(), std::random_device()());
  return own;
}

fs::path temporary_name(const fs::path& target) {
  return target.parent_path() / fmt::format(".{}{}{}", target.filename().string(), kMark, token());
}

[[noreturn]] void fail(const fs::path& path, const char* action, int error) {
  throw SystemError("{}: cannot {}: {}", path.string(), action, std::strerror(error));
}

// A file under a temporary name. The destructor removes it unless commit() renamed it.
class TemporaryFile {
 public:
  explicit TemporaryFile(const fs::path& target)
      : target_(target),
        name_(temporary_name(target)),
        file_(::open(name_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
    if (file_ < 0) fail(target, "create", errno);
  }
  ~TemporaryFile() {
    ::close(file_);
    ::unlink(name_.c_str());  // has no effect after the rename
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  void write(std::string_view part) const {
    while (!part.empty()) {
      const ssize_t written = ::write(file_, part.data(), part.size());
      if (written < 0 && errno != EINTR) fail(target_, "write", errno);
      if (written > 0) part.remove_prefix(static_cast<size_t>(written));
    }
  }
  void sync() const {
    if (::fsync(file_) != 0) fail(target_, "write", errno);
  }
  void commit() const {
    if (::rename(name_.c_str(), target_.c_str()) != 0) fail(target_, "rename into place", errno);
  }

 private:
  const fs::path& target_;
  fs::path name_;
  const ExitCleanup undo_{[this] { ::unlink(name_.c_str()); }};
  int file_;
};

}  // namespace

const std::string& temporary_token() { return token(); }

fs::path temporary_path(const fs::path& target) { return temporary_name(target); }

fs::path free_path(const fs::path& folder, const std::string& name) {
  fs::path path;
  std::error_code ignored;
  for (int n = 1; path.empty() || fs::exists(fs::symlink_status(path, ignored)); ++n) {
    path = folder / fmt::format("{}-{}", name, n);
  }
  return path;
}

void set_temporary_token(const std::string& given) { token() = given; }

bool is_temporary_of(const std::string& name, const std::string& who) {
  // The last mark counts: a temporary name that is itself based on a temporary name has two.
  const size_t mark = name.rfind(kMark + who);
  if (who.empty() || !name.starts_with('.') || mark == std::string::npos) return false;
  const std::string_view rest =
      std::string_view(name).substr(mark + std::string_view(kMark).size() + who.size());
  return rest.empty() || (rest.size() > 1 && rest[0] == '-' &&
                          rest.find_first_not_of("0123456789", 1) == std::string_view::npos);
}

void write_file_atomically(const fs::path& path, std::string_view text) {
  write_file_atomically(path, [&](const ByteSink& write) { write(text); });
}

void write_file_atomically(const fs::path& path,
                           const std::function<void(const ByteSink&)>& produce) {
  const TemporaryFile file(path);
  produce([&](std::string_view part) { file.write(part); });
  file.sync();
  file.commit();
}

void write_files_atomically(const std::vector<FileText>& files) {
  std::list<TemporaryFile> written;
  for (const FileText& file : files) {
    written.emplace_back(file.path).write(file.text);
    written.back().sync();
  }
  for (const TemporaryFile& file : written) file.commit();
}

AtomicFolder::AtomicFolder(fs::path target) : target_(std::move(target)) {
  if (!target_.has_filename())
    target_ = target_.parent_path();  // "dir/" names the same folder as "dir"
  target_ = fs::absolute(target_);
  path_ = temporary_name(target_);
  for (fs::path parent = target_.parent_path(); !parent.empty() && !fs::exists(parent);
       parent = parent.parent_path()) {
    created_parent_ = parent;
  }
  undo_.emplace([this] { remove(); });
  std::error_code error;
  fs::create_directories(target_.parent_path(), error);
  const bool made = !error && fs::create_directory(path_, error);
  if (!made && !error) error = std::make_error_code(std::errc::file_exists);
  if (error) throw SystemError("{}: cannot create folder: {}", target_.string(), error.message());
}

AtomicFolder::~AtomicFolder() {
  if (!committed_) remove();
}

void AtomicFolder::remove() const {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  if (created_parent_.empty()) return;
  // Remove only the empty folders that this object made.
  for (fs::path parent = target_.parent_path();; parent = parent.parent_path()) {
    if (!fs::remove(parent, ignored) || parent == created_parent_) break;
  }
}

void AtomicFolder::commit() {
  if (::rename(path_.c_str(), target_.c_str()) != 0) fail(target_, "rename into place", errno);
  committed_ = true;
}

}  // namespace ropewalk
