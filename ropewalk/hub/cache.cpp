#include "ropewalk/hub/cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/atomic_file.h"
#include "ropewalk/base/files/mapped_file.h"
#include "ropewalk/base/log.h"
#include "ropewalk/base/printable.h"
#include "ropewalk/hub/fetched.h"
#include "ropewalk/hub/requests.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

bool is_hex(const std::string& text) {
  return text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

const std::string& checked_commit(const std::string& commit) {
  if (is_commit(commit)) return commit;
  throw InputError("the Hub sends the commit '{}', expected 40 hexadecimal digits; refused",
                   printable_excerpt(commit, 80));
}

// An etag becomes a file name, so it must not lead elsewhere.
const std::string& checked_etag(const std::string& etag) {
  const bool plain = std::all_of(etag.begin(), etag.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
  if (plain && !etag.empty() && etag.front() != '.' && etag.size() <= 128) return etag;
  throw InputError("the Hub sends the etag '{}' for a file, expected a hash; refused",
                   printable_excerpt(etag, 80));
}

// Checks a relative path of plain names: a file in a repository, or a branch.
const std::string& checked_name(const std::string& name) {
  bool plain = !name.empty() && name.find('\0') == std::string::npos &&
               name.find('\\') == std::string::npos && name.size() <= 1024;
  for (const fs::path& part : fs::path(name)) {
    plain = plain && !part.empty() && part != "." && part != ".." && !part.has_root_directory();
  }
  if (plain) return name;
  throw InputError("the Hub sends the path '{}', which would be outside the cache; refused",
                   printable_excerpt(name, 200));
}

// Follows a link one step; returns an empty path where there is no link.
fs::path target(const fs::path& link) {
  std::error_code error;
  const fs::path to = fs::read_symlink(link, error);
  return error ? fs::path() : (link.parent_path() / to).lexically_normal();
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw SystemError("{}: cannot create folder: {}", folder.string(), error.message());
}

}  // namespace

std::string HubRepository::folder() const {
  std::string name = id;
  name.replace(name.find('/'), 1, "--");
  return (kind == Kind::model ? "models--" : "datasets--") + name;
}

std::string HubRepository::page() const { return (kind == Kind::model ? "/" : "/datasets/") + id; }

std::string HubRepository::api() const {
  return (kind == Kind::model ? "/api/models/" : "/api/datasets/") + id;
}

bool is_hub_id(const std::string& text) {
  const size_t slash = text.find('/');
  if (slash == std::string::npos) return false;
  const auto is_name = [](const std::string& name) {
    const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             c == '-' || c == '_' || c == '.';
    });
    return plain && !name.empty() && name.size() <= 96 && name.front() != '.' &&
           name.front() != '-' && name.back() != '.' && name.back() != '-' &&
           name.find("--") == std::string::npos && name.find("..") == std::string::npos;
  };
  return is_name(text.substr(0, slash)) && is_name(text.substr(slash + 1));
}

bool is_commit(const std::string& text) { return text.size() == 40 && is_hex(text); }

bool is_content_hash(const std::string& etag) {
  return (etag.size() == 40 || etag.size() == 64) && is_hex(etag);
}

HubCache::HubCache(const fs::path& root, const HubRepository& repository)
    : root_(root.lexically_normal()), folder_(repository.folder()) {}

fs::path HubCache::snapshot(const std::string& commit) const {
  return root_ / folder_ / "snapshots" / checked_commit(commit);
}

fs::path HubCache::file(const std::string& commit, const std::string& name) const {
  return snapshot(commit) / checked_name(name);
}

fs::path HubCache::blob(const std::string& etag) const {
  return root_ / folder_ / "blobs" / checked_etag(etag);
}

fs::path HubCache::notes() const { return root_ / folder_ / ".ropewalk"; }

std::string HubCache::etag(const std::string& commit, const std::string& name) const {
  const fs::path bytes = target(file(commit, name));
  return bytes.parent_path() == root_ / folder_ / "blobs" ? bytes.filename().string() : "";
}

bool HubCache::has(const std::string& commit, const std::string& name) const {
  std::error_code ignored;
  return fs::is_regular_file(file(commit, name), ignored);
}

std::string HubCache::commit_of(const std::string& revision) const {
  if (is_commit(revision)) return revision;
  const fs::path path = root_ / folder_ / "refs" / checked_name(revision);
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return "";
  const std::string commit = read_text_file(path, 4096);
  return is_commit(commit) ? commit : "";
}

std::map<std::string, std::string> HubCache::refs() const {
  std::map<std::string, std::string> refs;
  const fs::path folder = root_ / folder_ / "refs";
  std::error_code ignored;
  for (const auto& entry : fs::recursive_directory_iterator(folder, ignored)) {
    const std::string name = entry.path().lexically_relative(folder).string();
    if (!entry.is_regular_file(ignored) || entry.path().filename().string().starts_with('.')) {
      continue;  // for example the files of a killed process
    }
    if (const std::string commit = commit_of(name); !commit.empty()) refs[name] = commit;
  }
  return refs;
}

fs::path HubCache::absent(const std::string& commit, const std::string& name) const {
  return root_ / folder_ / ".no_exist" / checked_commit(commit) / checked_name(name);
}

bool HubCache::is_known_absent(const std::string& commit, const std::string& name) const {
  std::error_code ignored;
  return fs::is_regular_file(absent(commit, name), ignored);
}

void HubCache::remember_absent(const std::string& commit, const std::string& name) const {
  const fs::path path = absent(commit, name);
  make_folder(path.parent_path());
  write_file_atomically(path, "");
}

void HubCache::remember(const std::string& revision, const std::string& commit) const {
  // No write without need: the cache may be read-only.
  if (commit_of(revision) == checked_commit(commit)) return;
  const fs::path path = root_ / folder_ / "refs" / checked_name(revision);
  make_folder(path.parent_path());
  write_file_atomically(path, commit);
}

void HubCache::link(const std::string& commit, const std::string& name,
                    const std::string& etag) const {
  const fs::path path = file(commit, name);
  make_folder(path.parent_path());
  const fs::path relative = blob(etag).lexically_relative(path.parent_path());
  for (int attempt = 0; attempt < 10; ++attempt) {
    if (::symlink(relative.c_str(), path.c_str()) == 0 || target(path) == blob(etag)) return;
    std::error_code ignored;
    // Another program stores the bytes here, without a link.
    if (!fs::is_symlink(path, ignored)) break;
    fs::remove(path, ignored);
  }
  throw SystemError("{}: cannot create link: {}", path.string(), std::strerror(errno));
}

std::optional<int64_t> HubCache::remove(const std::string& commit, const std::string& name) const {
  const std::string etag = this->etag(commit, name);
  if (etag.empty() || !was_fetched(blob(etag))) return std::nullopt;
  const fs::path bytes = blob(etag);
  const auto remove_one = [](const fs::path& path) {
    std::error_code error;
    if (!fs::remove(path, error) && error) {
      throw SystemError("{}: cannot remove: {}", path.string(), error.message());
    }
  };
  remove_one(file(commit, name));
  std::error_code ignored;
  for (const auto& entry :
       fs::recursive_directory_iterator(root_ / folder_ / "snapshots", ignored)) {
    if (target(entry.path()) == bytes) return 0;
  }
  const auto size = static_cast<int64_t>(fs::file_size(bytes, ignored));
  remove_one(bytes);
  forget_fetched(bytes);
  return size;
}

HubLock::HubLock(const HubCache& cache, const std::string& etag, const std::stop_token& stop) {
  const fs::path path = cache.root_ / ".locks" / cache.folder_ / (checked_etag(etag) + ".lock");
  make_folder(path.parent_path());
  file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0664);
  if (file_ < 0) throw SystemError("{}: cannot create: {}", path.string(), std::strerror(errno));
  constexpr double kPause = 0.05;  // seconds
  double waited = 0;
  while (::flock(file_, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      const int why = errno;
      ::close(file_);
      throw SystemError("{}: cannot lock: {}", path.string(), std::strerror(why));
    }
    if (waited < 1 && waited + kPause >= 1) {
      log::info("waiting for another download of the same file ({})", path.string());
    }
    waited += kPause;
    try {
      wait_or_throw(kPause, stop);
    } catch (...) {
      ::close(file_);
      throw;
    }
  }
}

HubLock::~HubLock() { ::close(file_); }

}  // namespace ropewalk
