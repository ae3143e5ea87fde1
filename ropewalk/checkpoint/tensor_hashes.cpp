#include "ropewalk/checkpoint/tensor_hashes.h"

#include <linux/magic.h>
#include <sys/vfs.h>

#include <charconv>
#include <cstdlib>
#include <ctime>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/atomic_file.h"
#include "ropewalk/base/files/hash.h"
#include "ropewalk/base/files/json.h"
#include "ropewalk/base/files/mapped_file.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

constexpr int64_t kUntouched = 2;  // seconds after which a further write changes a file's times

int64_t nanoseconds(const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; }

// A stamp that changes whenever somebody writes to the file or replaces it.
Json stamp(const MappedFile& file) {
  const struct stat& status = file.status();
  return {file.size(), nanoseconds(status.st_mtim), nanoseconds(status.st_ctim), status.st_ino,
          status.st_dev};
}

// In tmpfs, a file keeps its times when somebody writes to it through a mapping.
bool forgets_writes(const fs::path& path) {
  struct statfs system {};
  return ::statfs(path.c_str(), &system) != 0 || system.f_type == TMPFS_MAGIC ||
         system.f_type == RAMFS_MAGIC;
}

fs::path memory_of(const MappedFile& file) {
  const fs::path folder = hash_memory();
  if (folder.empty() || forgets_writes(file.path())) return {};
  std::error_code error;
  const fs::path path = fs::canonical(file.path(), error);
  return error ? fs::path() : folder / (sha256_hex(path.string()).substr(0, 32) + ".json");
}

std::optional<ContentHash> parse_hash(const Json& value) {
  constexpr size_t kDigits = 16;
  if (!value.is_string()) return std::nullopt;
  const std::string text = value.get<std::string>();
  if (text.size() != 2 * kDigits) return std::nullopt;
  ContentHash hash;
  const char* middle = text.data() + kDigits;
  const auto high = std::from_chars(text.data(), middle, hash.high, 16);
  const auto low = std::from_chars(middle, middle + kDigits, hash.low, 16);
  if (high.ptr != middle || low.ptr != middle + kDigits) return std::nullopt;
  return hash;
}

}  // namespace

fs::path hash_memory() {
  const auto variable = [](const char* name) -> fs::path {
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
  };
  fs::path base = variable("ROPEWALK_CACHE");
  if (base.empty()) {
    base = variable("XDG_CACHE_HOME");
    if (base.empty() && !variable("HOME").empty()) base = variable("HOME") / ".cache";
    if (base.empty()) return {};
    base /= "ropewalk";
  }
  return base / "weights";
}

TensorHashes::TensorHashes(const MappedFile& file) : file_(file), opened_(std::time(nullptr)) {
  recall();
}

TensorHashes::~TensorHashes() { remember(); }

std::optional<ContentHash> TensorHashes::find(const std::string& tensor) const {
  const std::lock_guard lock(mutex_);
  const auto found = hashes_.find(tensor);
  return found == hashes_.end() ? std::nullopt : std::optional(found->second);
}

void TensorHashes::add(const std::string& tensor, const ContentHash& hash) {
  const std::lock_guard lock(mutex_);
  changed_ = hashes_.emplace(tensor, hash).second || changed_;
}

void TensorHashes::recall() {
  const fs::path memory = memory_of(file_);
  std::error_code error;
  if (memory.empty() || !fs::exists(memory, error)) return;
  try {
    const Json json = read_json_file(memory);
    if (!json.is_object() || json.value("file", Json()) != stamp(file_)) return;
    const Json tensors = json.value("tensors", Json::object());
    for (const auto& [name, text] : tensors.items()) {
      if (const auto hash = parse_hash(text)) hashes_[name] = *hash;
    }
  } catch (const std::exception&) {
    hashes_.clear();  // the file is damaged: everything is hashed again
  }
}

void TensorHashes::remember() const {
  const struct stat& status = file_.status();
  const bool untouched =
      std::max<int64_t>(status.st_mtim.tv_sec, status.st_ctim.tv_sec) + kUntouched <= opened_;
  const fs::path memory = memory_of(file_);
  if (!changed_ || !untouched || memory.empty()) return;
  try {
    file_.require_unchanged();
    Json tensors = Json::object();
    for (const auto& [name, hash] : hashes_) tensors[name] = hash.hex();
    std::error_code error;
    fs::create_directories(memory.parent_path(), error);
    write_file_atomically(memory, Json{{"file", stamp(file_)}, {"tensors", tensors}}.dump() + "\n");
  } catch (const std::exception&) {
    // A failure is harmless: the next run reads the file once more.
  }
}

}  // namespace ropewalk
