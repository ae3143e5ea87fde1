#include "ropewalk/study/capture/written_capture.h"

#include <set>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/atomic_file.h"
#include "ropewalk/base/files/content_hash.h"
#include "ropewalk/base/files/mapped_file.h"
#include "ropewalk/base/log.h"
#include "ropewalk/moments/files/moments_file.h"
#include "ropewalk/moments/stream_key.h"
#include "ropewalk/study/capture/capture.h"
#include "ropewalk/study/capture/capture_files.h"
#include "ropewalk/study/capture/capture_folder.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

// The files of vectors that a capture may have: one per head, or none where nothing was sampled.
std::set<fs::path> vector_files(const fs::path& folder, const CaptureInfo& info) {
  info.config.require_heads((folder / kCaptureName).string());
  const auto group = static_cast<int32_t>(info.config.n_q_heads / info.config.n_kv_heads);
  std::set<fs::path> files;
  for (const QueryHead& head : info.heads) {
    files.insert(stream_file(folder, {head.layer, head.q_head, StreamKind::query}));
    files.insert(stream_file(folder, {head.layer, head.q_head / group, StreamKind::key}));
  }
  return files;
}

// The size of a file; 0 where it is missing.
int64_t bytes_of(const fs::path& file) {
  std::error_code error;
  const auto size = fs::file_size(file, error);
  return error ? 0 : static_cast<int64_t>(size);
}

int64_t vector_bytes(const fs::path& folder, const CaptureInfo& info) {
  int64_t bytes = 0;
  for (const fs::path& file : vector_files(folder, info)) bytes += bytes_of(file);
  return bytes;
}

std::string hash_of(const fs::path& path) {
  const MappedFile file(path);
  return hash_stretch({file.data(), static_cast<size_t>(file.size())}).hex();
}

// One hash of all files of vectors, and of the heads to which they belong.
std::string hash_vectors(const fs::path& folder, const CaptureInfo& info) {
  std::string hashes;
  for (const fs::path& file : vector_files(folder, info)) {
    if (bytes_of(file) == 0) continue;
    hashes += fmt::format("{} {}\n", file.parent_path().filename().string(), hash_of(file));
  }
  return hash_bytes(hashes.data(), hashes.size()).hex();
}

void require_whole_vectors(const fs::path& folder, const CaptureInfo& info) {
  if (!info.vectors) return;
  require_vectors(folder, info);
  if (info.vector_files->hash == hash_vectors(folder, info)) return;
  throw InputError("{}: have changed since they were written", (folder / kVectorsName).string());
}

}  // namespace

void require_vectors(const fs::path& folder, const CaptureInfo& info) {
  if (!info.vector_files) {
    throw InputError("{}: key 'vector_files' is missing", (folder / kCaptureName).string());
  }
  const int64_t bytes = vector_bytes(folder, info);
  if (info.vector_files->bytes == bytes) return;
  throw InputError("{}: has {} bytes, but {} were written", (folder / kVectorsName).string(), bytes,
                   info.vector_files->bytes);
}

CaptureInfo describe_in(const fs::path& folder, CaptureInfo info) {
  info.moments = hash_of(folder / kMomentsName);
  std::error_code ignored;
  if (info.vectors &&
      fs::is_directory(folder / kVectorsName, ignored)) {  // a merged capture has none
    info.vector_files = {vector_bytes(folder, info), hash_vectors(folder, info)};
  }
  write_file_atomically(folder / kCaptureName, info.described().dump(2) + "\n");
  return info;
}

std::optional<CaptureNames> current_names(const fs::path& folder) {
  const fs::path file = folder / kCaptureName;
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return std::nullopt;
  CaptureInfo info;
  try {
    info = CaptureInfo::from_json(read_json_file(file), file.string());
  } catch (const InputError& damaged) {
    log::warning("{}; using the names in {}", damaged.what(), kMomentsName);
    return std::nullopt;
  }
  try {
    require_complete_moments(folder, info);
  } catch (const InputError& changed) {
    throw InputError(
        "{}, by the hash in {}; measure it again, or name the file itself to use it without this "
        "check",
        changed.what(), kCaptureName);
  }
  return info.names();
}

void require_complete_moments(const fs::path& folder, const CaptureInfo& info) {
  if (info.moments.empty() || info.moments == hash_of(folder / kMomentsName)) return;
  throw InputError("{}: has changed since it was written", (folder / kMomentsName).string());
}

void require_complete(const fs::path& folder, const CaptureInfo& info) {
  require_complete_moments(folder, info);
  require_whole_vectors(folder, info);
}

CaptureMoments read_capture(const fs::path& capture, Blocks blocks, Tokens tokens) {
  const fs::path path = moments_path(capture);
  // Reading explains damage better than a hash does.
  CaptureMoments moments = read_moments(path, blocks, tokens);
  if (const auto names = current_names(capture)) moments.info.names() = *names;
  return moments;
}

}  // namespace ropewalk
