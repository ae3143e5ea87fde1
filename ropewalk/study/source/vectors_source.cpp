#include "ropewalk/study/source/vectors_source.h"

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/content_hash.h"
#include "ropewalk/base/files/hash.h"
#include "ropewalk/base/files/mapped_file.h"
#include "ropewalk/base/log.h"
#include "ropewalk/base/units.h"
#include "ropewalk/hub/download.h"
#include "ropewalk/hub/listing.h"
#include "ropewalk/moments/vectors/vectors_reader.h"
#include "ropewalk/study/source/hub_uri.h"
#include "ropewalk/study/source/locate.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

VectorsSource find_folder(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) {
    throw InputError(
        "{} is not a folder; write one with captured vectors, or hf://datasets/org/name@revision",
        folder.string());
  }
  const VectorsReader reader(folder);
  VectorsSource source;
  source.title = source.folder = folder;
  for (const StreamKey& key : reader.streams()) {
    source.streams[key] = {reader.file(key).string(), "", reader.file_bytes(key)};
  }
  return source;
}

// The stream to which a file in `folder`, or in vectors/ there, belongs.
std::optional<StreamKey> stream_of(const fs::path& name, const fs::path& folder) {
  if (name.filename() != kVectorsFile) return std::nullopt;
  const fs::path parent = name.parent_path().parent_path();
  if (parent != folder && parent != folder / kVectorsName) return std::nullopt;
  return parse_stream_name(name.parent_path().filename().string());
}

VectorsSource find_on_hub(const std::string& text) {
  const HubUri uri = parse_hub_uri(text, "hf://datasets/org/name@revision");
  Hub& hub = shared_hub();
  const auto inside = [&](const char* name) {
    return uri.inside.empty() ? std::string(name) : uri.inside + "/" + name;
  };
  VectorsSource source;
  source.title = text;
  source.repository = uri.repository;
  source.commit = hub.commit(uri.repository, uri.revision, inside("README.md"));
  source.folder = hub.cache(uri.repository).file(source.commit, inside("x")).parent_path();
  const std::vector<HubFile> files = list_files(hub, uri.repository, source.commit, uri.inside);
  for (const HubFile& file : files) {
    if (const auto key = stream_of(file.name, uri.inside)) {
      if (!source.streams.emplace(*key, file).second) {
        throw InputError("{}: has {} twice", text, stream_name(*key));
      }
    }
    const bool says = file.name == inside("README.md") || file.name == inside("capture.json");
    if (says) hub.fetch(uri.repository, source.commit, {file}, {file.name, false, {}});
  }
  if (source.streams.empty()) {
    throw InputError("{}: holds no vectors; expected folders such as l03h11q with a data.parquet",
                     text);
  }
  return source;
}

}  // namespace

VectorsSource find_vectors(const std::string& uri) {
  return is_hub_uri(uri) ? find_on_hub(uri) : find_folder(uri);
}

std::string VectorsSource::name() const {
  return repository ? fmt::format("{}@{}", repository->id, commit) : folder.string();
}

int64_t VectorsSource::bytes() const {
  int64_t sum = 0;
  for (const auto& [key, file] : streams) sum += file.size;
  return sum;
}

std::string VectorsSource::digest() const {
  Sha256 hash;
  for (const auto& [key, file] : streams) {
    std::string bytes = file.etag;
    if (!repository) {
      const MappedFile mapped(file.name);
      bytes = hash_stretch({mapped.data(), static_cast<size_t>(mapped.size())}).hex();
    } else if (!is_content_hash(bytes)) {
      bytes = commit;  // the only thing known about them
    }
    hash.update(fmt::format("{} {}\n", stream_name(key), bytes));
  }
  return "vectors:" + hash.hex();
}

VectorsFacts facts_of(const VectorsSource& source) {
  try {
    return read_vectors_facts(source.folder, std::nullopt);
  } catch (const InputError&) {
    throw InputError(
        "{}: the number of query heads per key head is unknown: neither its README.md "
        "(head_sampling_num_query_heads, head_sampling_num_key_heads) nor a capture.json states "
        "it; name the model (org/name), whose config.json does",
        source.title);
  }
}

void require_keys(const VectorsSource& source, int64_t group) {
  bool queries = false;
  for (const auto& [key, file] : source.streams) {
    if (key.kind != StreamKind::query) continue;
    queries = true;
    const StreamKey keys{key.layer, static_cast<int32_t>(key.head / group), StreamKind::key};
    if (source.streams.contains(keys)) continue;
    throw InputError("{}: the keys of {} are missing: expected {}", source.title, stream_name(key),
                     stream_name(keys));
  }
  if (!queries) throw InputError("{}: holds keys, but no queries", source.title);
}

int64_t missing_bytes(const Hub& hub, const VectorsSource& source) {
  if (!source.repository) return 0;
  const HubCache cache = hub.cache(*source.repository);
  int64_t bytes = 0;
  for (const auto& [key, file] : source.streams) {
    if (!cache.has(source.commit, file.name)) bytes += missing_bytes(cache, file);
  }
  return bytes;
}

void fetch_vectors(Hub& hub, const VectorsSource& source, const FetchOptions& options) {
  if (!source.repository) return;
  std::vector<HubFile> files;
  for (const auto& [key, file] : source.streams) files.push_back(file);
  hub.fetch(*source.repository, source.commit, files, options);
}

int64_t evict_vectors(const Hub& hub, const VectorsSource& source) {
  if (!source.repository) return 0;
  const HubCache cache = hub.cache(*source.repository);
  int64_t freed = 0;
  int64_t kept = 0;
  for (const auto& [key, file] : source.streams) {
    if (!cache.has(source.commit, file.name)) continue;
    const std::optional<int64_t> removed = cache.remove(source.commit, file.name);
    freed += removed.value_or(0);
    kept += removed ? 0 : file.size;
  }
  if (kept > 0) {
    log::info("{}: {} stay in the cache, because this program did not download them", source.name(),
              format_bytes(kept));
  }
  return freed;
}

}  // namespace ropewalk
