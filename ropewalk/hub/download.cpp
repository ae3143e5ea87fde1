#include "ropewalk/hub/download.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include "ropewalk/base/error.h"
#include "ropewalk/base/hash.h"
#include "ropewalk/base/interrupt.h"
#include "ropewalk/base/log.h"
#include "ropewalk/base/units.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

fs::path incomplete_name(const fs::path& blob) {
  fs::path path = blob;
  path += ".incomplete";
  return path;
}

// What an etag promises about the bytes: SHA-256 of a large file, git's SHA-1 of a small one. A
// server that is not the Hub may give others, which promise nothing.
class BlobHash {
 public:
  explicit BlobHash(const HubFile& file) : file_(file) { restart(); }

  void restart() {
    digest_.reset();
    const bool hex = file_.etag.find_first_not_of("0123456789abcdef") == std::string::npos;
    if (hex && file_.etag.size() == 64) {
      digest_.emplace(Digest::Kind::sha256);
    } else if (hex && file_.etag.size() == 40) {
      digest_.emplace(Digest::Kind::sha1);
      digest_->update(fmt::format("blob {}", file_.size));
      digest_->update("\0", 1);
    }
  }
  void update(std::string_view part) {
    if (digest_) digest_->update(part);
  }
  // The hash of what came, or the etag itself where it promises nothing.
  std::string hex() { return digest_ ? digest_->hex() : file_.etag; }

 private:
  const HubFile& file_;
  std::optional<Digest> digest_;
};

// ETAG.incomplete and the hash of what it holds.
class PartialFile {
 public:
  PartialFile(fs::path blob, const HubFile& file)
      : blob_(std::move(blob)), path_(incomplete_name(blob_)), expected_(file.size), hash_(file) {
    std::error_code error;
    fs::create_directories(path_.parent_path(), error);
    file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file_ < 0) fail("create");
  }
  ~PartialFile() { ::close(file_); }
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  int64_t size() const { return size_; }

  // Reads what an earlier download left.
  void read_back() {
    std::array<char, 1 << 16> buffer{};
    for (;;) {
      throw_if_interrupted();
      const ssize_t count = ::pread(file_, buffer.data(), buffer.size(), size_);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) fail("read");
      if (count == 0) return;
      hash_.update({buffer.data(), static_cast<size_t>(count)});
      size_ += count;
      if (size_ > expected_) return restart();
    }
  }
  void restart() {
    if (::ftruncate(file_, 0) != 0) fail("write");
    hash_.restart();
    size_ = 0;
  }
  void append(std::string_view part) {
    hash_.update(part);
    while (!part.empty()) {
      const ssize_t count = ::pwrite(file_, part.data(), part.size(), size_);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) fail("write");
      part.remove_prefix(static_cast<size_t>(count));
      size_ += count;
    }
  }
  std::string hash() { return hash_.hex(); }
  void commit() {
    if (::fsync(file_) != 0) fail("write");
    if (::rename(path_.c_str(), blob_.c_str()) != 0) fail("rename");
  }

 private:
  [[noreturn]] void fail(const char* action) const {
    throw SystemError("{}: cannot {}: {}", path_.string(), action, std::strerror(errno));
  }

  fs::path blob_;
  fs::path path_;
  int64_t expected_;
  BlobHash hash_;
  int file_ = -1;
  int64_t size_ = 0;
};

}  // namespace

void fail_request(const HttpResponse& response, const std::string& what) {
  const std::string code = response.header("x-error-code");
  if (code == "GatedRepo") {
    throw InputError(
        "{}: is gated; accept its conditions on its page and set HF_TOKEN to a token of the "
        "account that did",
        what);
  }
  if (code == "RevisionNotFound") throw InputError("{}: the Hub has no such revision", what);
  if (code == "EntryNotFound") throw InputError("{}: the Hub has no such file", what);
  if (code == "RepoNotFound" || response.status == 401 || response.status == 404) {
    throw InputError(
        "{}: the Hub has no such repository, or it is private; check the name, or set HF_TOKEN",
        what);
  }
  if (response.status == 403) {
    throw InputError("{}: the Hub refuses access (HTTP 403); check what HF_TOKEN allows", what);
  }
  throw InputError("{}: the Hub answers HTTP {}, expected 200", what, response.status);
}

int64_t missing_bytes(const HubCache& cache, const HubFile& file) {
  std::error_code error;
  const fs::path blob = cache.blob(file.etag);
  if (fs::exists(blob, error)) return 0;
  const auto arrived = static_cast<int64_t>(fs::file_size(incomplete_name(blob), error));
  return error || arrived > file.size ? file.size : file.size - arrived;
}

void download_blob(HubRequests& requests, const HubCache& cache, const HubFile& file,
                   const std::string& path, const std::stop_token& stop,
                   const std::function<void(int64_t)>& arrived) {
  const std::string what = path.substr(1);  // "org/name/resolve/COMMIT/FILE", for messages
  const fs::path blob = cache.blob(file.etag);
  const HubLock lock(cache, file.etag, stop);
  std::error_code ignored;
  if (fs::exists(blob, ignored)) return;  // another process was faster
  PartialFile partial(blob, file);
  partial.read_back();
  if (partial.size() > 0) {
    log::debug("{}: going on after {}", what, format_bytes(partial.size()));
  }
  int64_t counted = 0;
  const auto restart = [&] {
    arrived(-counted);
    counted = 0;
    partial.restart();
  };
  const auto take = [&](int64_t status, bool& first, std::string_view part) {
    if (first && status == 200 && partial.size() > 0) restart();  // the server knows no ranges
    first = false;
    if (partial.size() + static_cast<int64_t>(part.size()) > file.size) {
      partial.restart();
      throw InputError("{}: the server sends more than the {} bytes it announced", what, file.size);
    }
    partial.append(part);
    arrived(static_cast<int64_t>(part.size()));
    counted += static_cast<int64_t>(part.size());
  };

  bool second_try = false;
  for (int failures = 0;;) {
    if (partial.size() == file.size) {
      const std::string hash = partial.hash();
      if (hash == file.etag) break;
      // Bytes left by an earlier download may be the wrong ones; fresh ones get a second try too.
      restart();
      if (second_try) {
        throw InputError("{}: what the server sends has the hash {}, expected {}; refused", what,
                         hash, file.etag);
      }
      log::warning("{}: hash {}, expected {}; downloading it again", what, hash, file.etag);
      second_try = true;
      if (file.size == 0) continue;
    }
    const int64_t before = partial.size();
    bool first = true;
    const HttpResponse response = requests.stream(
        path, before, [&](int64_t status, std::string_view part) { take(status, first, part); });
    if (response.status == 416) {
      restart();
    } else if (response.status != 200 && response.status != 206) {
      fail_request(response, what);
    }
    if (partial.size() == file.size) continue;
    failures = partial.size() > before ? 0 : failures + 1;
    const std::string why = response.problem.empty() ? "the body ended early" : response.problem;
    if (failures == kAttempts) {
      throw SystemError("{}: broke off after {} of {} bytes, {} times ({}); try again later", what,
                        partial.size(), file.size, failures, why);
    }
    log::info("{}: broke off after {} of {} bytes ({}); going on", what, partial.size(), file.size,
              why);
    if (failures > 0) wait_politely(backoff(failures), stop);
  }
  partial.commit();
}

}  // namespace ropewalk
