#include "ropewalk/hub/remote_file.h"

#include <algorithm>
#include <cstring>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/atomic_file.h"
#include "ropewalk/base/files/content_hash.h"
#include "ropewalk/base/files/hash.h"
#include "ropewalk/base/files/mapped_file.h"
#include "ropewalk/base/log.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

constexpr size_t kHeld = 8;  // parts in memory: the columns of a Parquet file are read in turn

// The checksum that precedes the bytes of a part on disk.
std::string seal(const std::string& bytes) {
  return hash_bytes(bytes.data(), bytes.size()).hex() + "\n";
}

}  // namespace

RemoteFile::RemoteFile(std::string name, int64_t size, fs::path parts, Read read)
    : name_(std::move(name)), size_(size), parts_(std::move(parts)), read_(std::move(read)) {}

int64_t RemoteFile::length_of(int64_t number) const {
  return std::min(kPart, size_ - number * kPart);
}

std::string RemoteFile::kept(int64_t number) const {
  const fs::path path = parts_ / std::to_string(number);
  std::error_code ignored;
  if (!fs::is_regular_file(fs::symlink_status(path, ignored))) return "";
  constexpr int64_t kSeal = 64;
  const std::string text = read_text_file(path, kPart + kSeal);
  const size_t end = text.find('\n');
  std::string bytes = end == std::string::npos ? "" : text.substr(end + 1);
  const bool whole = static_cast<int64_t>(bytes.size()) == length_of(number) &&
                     text.compare(0, end + 1, seal(bytes)) == 0;
  return whole ? bytes : "";
}

void RemoteFile::keep(int64_t number, const std::string& bytes) const {
  std::error_code ignored;
  fs::create_directories(parts_, ignored);
  try {
    write_file_atomically(parts_ / std::to_string(number), seal(bytes) + bytes);
  } catch (const SystemError& error) {
    log::debug("{}; this part will be downloaded again", error.what());
  }
}

const std::string& RemoteFile::part(int64_t number) {
  const auto held = std::find_if(recent_.begin(), recent_.end(),
                                 [&](const Part& part) { return part.number == number; });
  if (held != recent_.end()) {
    recent_.splice(recent_.begin(), recent_, held);
    return recent_.front().bytes;
  }
  std::string bytes = kept(number);
  if (bytes.empty()) {
    bytes = read_(number * kPart, length_of(number));
    bytes_requested_ += static_cast<int64_t>(bytes.size());
    keep(number, bytes);
  }
  recent_.push_front({number, std::move(bytes)});
  if (recent_.size() > kHeld) recent_.pop_back();
  return recent_.front().bytes;
}

int64_t RemoteFile::read(int64_t offset, char* data, int64_t length) {
  const std::lock_guard lock(mutex_);
  int64_t done = 0;
  while (done < length && offset + done < size_) {
    const int64_t at = offset + done;
    const std::string& bytes = part(at / kPart);
    const int64_t begin = at % kPart;
    const int64_t count = std::min(length - done, static_cast<int64_t>(bytes.size()) - begin);
    std::memcpy(data + done, bytes.data() + begin, static_cast<size_t>(count));
    done += count;
  }
  return done;
}

std::shared_ptr<RemoteFile> open_remote_file(Hub& hub, const HubRepository& repository,
                                             const std::string& commit, const HubFile& file) {
  // Commits share the bytes where an etag identifies them.
  const std::string key = is_content_hash(file.etag)
                              ? file.etag
                              : sha256_hex(fmt::format("{}/{}", commit, file.name)).substr(0, 40);
  return std::make_shared<RemoteFile>(
      fmt::format("{}@{}/{}", repository.id, commit.substr(0, 12), file.name), file.size,
      hub.cache(repository).notes() / "parts" / key,
      [&hub, repository, commit, name = file.name](int64_t offset, int64_t length) {
        if (hub.settings().offline) {
          throw InputError(
              "{}@{}/{}: bytes {} to {} are not in the cache, and HF_HUB_OFFLINE is set",
              repository.id, commit, name, offset, offset + length - 1);
        }
        return hub.read(repository, commit, name, offset, length);
      });
}

}  // namespace ropewalk
