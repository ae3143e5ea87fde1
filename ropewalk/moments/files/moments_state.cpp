#include "ropewalk/moments/files/moments_state.h"

#include <cstdlib>
#include <cstring>
#include <functional>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/atomic_file.h"
#include "ropewalk/base/files/content_hash.h"
#include "ropewalk/base/files/mapped_file.h"
#include "ropewalk/base/log.h"
#include "ropewalk/checkpoint/safetensors.h"
#include "ropewalk/checkpoint/safetensors_writer.h"
#include "ropewalk/moments/capture_info.h"
#include "ropewalk/moments/files/moments_tensors.h"

namespace ropewalk {
namespace {

constexpr const char* kIdentity = "ropewalk-state";
constexpr const char* kSeconds = "seconds";
constexpr const char* kDigests = "document.digest";
constexpr const char* kHashes = "layer.hash";  // written last
constexpr const char* kPart = "moments";       // a moments file
constexpr const char* kPartHash = "moments.hash";
constexpr auto kHashBytes = static_cast<int64_t>(sizeof(ContentHash));
constexpr auto kNumber = static_cast<int64_t>(sizeof(double));

std::string layer_name(int64_t layer) { return fmt::format("layer.{}", layer); }

template <typename T>
TensorToWrite list(const char* name, const char* type, const std::vector<T>& values) {
  const auto size = static_cast<int64_t>(values.size());
  return {name, type, {size}, size * static_cast<int64_t>(sizeof(T)), [&](const ByteSink& write) {
            write({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)});
          }};
}

// The bytes of a tensor that must have this size.
const std::byte* bytes_of(const SafetensorsFile& file, const std::string& name, int64_t bytes) {
  const auto found = file.tensors().find(name);
  if (found == file.tensors().end() || found->second.bytes != bytes) {
    throw InputError("{}: tensor '{}' has changed since it was saved", file.path().string(), name);
  }
  return file.file().data() + found->second.offset;
}

// The digests of documents, as one tensor.
std::vector<int64_t> digests_of(std::span<const Document> documents) {
  std::vector<int64_t> digests;
  for (const Document& document : documents) {
    digests.push_back(static_cast<int64_t>(document.digest));
  }
  return digests;
}

std::string metadata_of(const SafetensorsFile& file, const char* key) {
  const auto found = file.metadata().find(key);
  return found == file.metadata().end() ? std::string() : found->second;
}

// Counts are computed from the documents, so the file is not trusted with them.
BlockCounts counts_of(std::span<const Document> documents, int64_t blocks) {
  BlockCounts counts(blocks);
  for (const Document& document : documents) {
    counts.add_document(document.block(blocks), static_cast<int64_t>(document.tokens.size()));
  }
  return counts;
}

// The number of the first of `documents` that a state read; 0 where it read others.
int64_t documents_read(const SafetensorsFile& file, std::span<const Document> documents) {
  const auto stored = file.tensors().find(kDigests);
  if (stored == file.tensors().end()) return 0;
  const int64_t count = stored->second.bytes / static_cast<int64_t>(sizeof(int64_t));
  if (count > static_cast<int64_t>(documents.size())) return 0;
  const std::vector<int64_t> digests = digests_of(documents.first(static_cast<size_t>(count)));
  const std::byte* saved = bytes_of(file, kDigests, count * kNumber);
  return std::memcmp(saved, digests.data(), digests.size() * sizeof(int64_t)) == 0 ? count : 0;
}

int64_t restore(const SafetensorsFile& file, MomentsCollector& collector,
                std::span<const Document> documents) {
  const int64_t count = documents_read(file, documents);
  if (count == 0) return 0;
  const auto read = documents.first(static_cast<size_t>(count));
  const auto layers = static_cast<int64_t>(collector.layers().size());
  const std::byte* hashes = bytes_of(file, kHashes, layers * kHashBytes);
  for (const auto& [number, layer] : collector.layers()) {
    // The file may have room for another number of documents (CaptureShape::documents).
    const auto found = file.tensors().find(layer_name(number));
    if (found != file.tensors().end() && found->second.bytes != layer.bytes) return 0;
  }
  // Everything is checked before anything is restored.
  for (const auto& [number, layer] : collector.layers()) {
    const std::byte* bytes = bytes_of(file, layer_name(number), layer.bytes);
    const ContentHash hash = hash_bytes(bytes, static_cast<size_t>(layer.bytes));
    if (std::memcmp(hashes, &hash, sizeof(hash)) != 0) {
      throw InputError("{}: tensor '{}' has changed since it was saved", file.path().string(),
                       layer_name(number));
    }
    hashes += kHashBytes;
  }
  const BlockCounts counts = counts_of(read, collector.blocks());
  for (const auto& [number, layer] : collector.layers()) {
    const std::byte* bytes = bytes_of(file, layer_name(number), layer.bytes);
    collector.restore(
        number, {reinterpret_cast<const char*>(bytes), static_cast<size_t>(layer.bytes)}, counts);
  }
  return count;
}

// The values of each document that was read.
std::vector<DocumentValues> values_in(const SafetensorsFile& file, int64_t documents) {
  std::vector<DocumentValues> values;
  const std::string prefix = document_name("");
  for (const auto& [name, stored] : file.tensors()) {
    if (!name.starts_with(prefix) || name == kDigests) continue;
    if (stored.type_name != "F64" || stored.shape.empty() || stored.shape[0] != documents) {
      throw InputError("{}: tensor '{}' has changed since it was saved", file.path().string(),
                       name);
    }
    const at::Tensor kept = at::empty(stored.shape, at::kDouble);
    std::memcpy(kept.data_ptr(), bytes_of(file, name, stored.bytes), kept.nbytes());
    values.push_back({name.substr(prefix.size()), kept});
  }
  return values;
}

}  // namespace

void save_state(const std::filesystem::path& path, const MomentsCollector& collector,
                const StateInfo& info, std::span<const Document> read,
                const std::vector<DocumentValues>& values) {
  const std::vector<int64_t> digests = digests_of(read);
  std::vector<ContentHash> hashes;  // of the layers, in the order of writing
  std::vector<TensorToWrite> tensors{list(kDigests, "I64", digests)};
  for (const DocumentValues& one : values) {
    const at::Tensor kept = one.values.contiguous();
    tensors.push_back({document_name(one.name), "F64", kept.sizes().vec(),
                       static_cast<int64_t>(kept.nbytes()), [kept](const ByteSink& write) {
                         write({static_cast<const char*>(kept.const_data_ptr()), kept.nbytes()});
                       }});
  }
  for (const auto& [number, layer] : collector.layers()) {
    tensors.push_back({layer_name(number),
                       "F64",
                       {layer.bytes / kNumber},
                       layer.bytes,
                       [&collector, &hashes, &layer = layer](const ByteSink& write) {
                         const std::string_view bytes = collector.bytes(layer);
                         hashes.push_back(hash_bytes(bytes.data(), bytes.size()));
                         write(bytes);
                         collector.release(layer);
                       }});
  }
  const auto layers = static_cast<int64_t>(collector.layers().size());
  tensors.push_back(
      {kHashes, "I64", {layers, 2}, layers * kHashBytes, [&](const ByteSink& write) {
         write({reinterpret_cast<const char*>(hashes.data()), hashes.size() * sizeof(ContentHash)});
       }});
  write_safetensors(
      path, tensors,
      {{kIdentity, info.identity.dump()}, {kSeconds, fmt::format("{}", info.seconds)}});
}

std::optional<StateInfo> read_state_info(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::nullopt;
  try {
    const SafetensorsFile file(path);
    const std::string identity = metadata_of(file, kIdentity);
    const auto digests = file.tensors().find(kDigests);
    if (identity.empty() || digests == file.tensors().end()) return std::nullopt;
    const std::string seconds = metadata_of(file, kSeconds);
    const int64_t count = digests->second.bytes / kNumber;
    StateInfo info{parse_json(identity, path.string()), count,
                   std::strtod(seconds.c_str(), nullptr)};
    if (!info.identity.is_object()) return std::nullopt;
    info.identity = upgraded_identity(std::move(info.identity));
    info.digests.resize(static_cast<size_t>(count));
    std::memcpy(info.digests.data(), bytes_of(file, kDigests, count * kNumber),
                info.digests.size() * sizeof(uint64_t));
    return info;
  } catch (const std::runtime_error&) {
    return std::nullopt;
  }
}

void save_part(const std::filesystem::path& path, const std::filesystem::path& moments,
               const StateInfo& info, std::span<const Document> read) {
  const MappedFile file(moments);
  const std::string_view bytes(reinterpret_cast<const char*>(file.data()),
                               static_cast<size_t>(file.size()));
  const ContentHash hash = hash_bytes(bytes.data(), bytes.size());
  const std::vector<int64_t> digests = digests_of(read);
  write_safetensors(
      path,
      {list(kDigests, "I64", digests),
       {kPart, "U8", {file.size()}, file.size(), [&](const ByteSink& write) { write(bytes); }},
       {kPartHash,
        "I64",
        {2},
        kHashBytes,
        [&](const ByteSink& write) {
          write({reinterpret_cast<const char*>(&hash), sizeof(hash)});
        }}},
      {{kIdentity, info.identity.dump()}, {kSeconds, fmt::format("{}", info.seconds)}});
}

namespace {

void extract_part(const SafetensorsFile& file, const std::filesystem::path& to) {
  const auto found = file.tensors().find(kPart);
  const int64_t size = found == file.tensors().end() ? 0 : found->second.bytes;
  const std::byte* bytes = bytes_of(file, kPart, size);
  const ContentHash hash = hash_bytes(bytes, static_cast<size_t>(size));
  if (std::memcmp(bytes_of(file, kPartHash, kHashBytes), &hash, sizeof(hash)) != 0) {
    throw InputError("{}: tensor '{}' has changed since it was saved", file.path().string(), kPart);
  }
  write_file_atomically(to, {reinterpret_cast<const char*>(bytes), static_cast<size_t>(size)});
}

// Reads a state with `restore`, which returns the number of documents, where it measures the same.
int64_t restored(const std::filesystem::path& path, const Json& identity,
                 const std::function<int64_t(const SafetensorsFile& file)>& restore) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return 0;
  try {
    const SafetensorsFile file(path);
    const std::string saved = metadata_of(file, kIdentity);
    const bool ours =
        !saved.empty() && upgraded_identity(parse_json(saved, path.string())) == identity;
    const int64_t read = ours ? restore(file) : 0;
    if (read == 0) log::info("{}: belongs to other settings; starting over", path.string());
    return read;
  } catch (const InputError& damaged) {
    log::warning("{}; starting over", damaged.what());
    return 0;
  }
}

}  // namespace

int64_t restore_state(const std::filesystem::path& path, MomentsCollector& collector,
                      const Json& identity, std::span<const Document> documents,
                      std::vector<DocumentValues>* values) {
  return restored(path, identity, [&](const SafetensorsFile& file) {
    const int64_t read = restore(file, collector, documents);
    if (values != nullptr && read > 0) *values = values_in(file, read);
    return read;
  });
}

int64_t restore_part(const std::filesystem::path& path, const Json& identity,
                     std::span<const Document> documents, const std::filesystem::path& to) {
  return restored(path, identity, [&](const SafetensorsFile& file) {
    const int64_t read = documents_read(file, documents);
    if (read > 0) extract_part(file, to);
    return read;
  });
}

}  // namespace ropewalk
