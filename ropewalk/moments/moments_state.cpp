#include "ropewalk/moments/moments_state.h"

#include <cstring>
#include <optional>

#include "ropewalk/base/error.h"
#include "ropewalk/base/log.h"
#include "ropewalk/checkpoint/safetensors.h"
#include "ropewalk/checkpoint/safetensors_writer.h"

namespace ropewalk {
namespace {

constexpr const char* kInfoKey = "ropewalk";
constexpr const char* kDocumentsKey = "documents";
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
    throw InputError("{}: tensor '{}' is not as it was saved; remove the file to start over",
                     file.path().string(), name);
  }
  return file.file().data() + found->second.offset;
}

template <typename T>
void read_list(const SafetensorsFile& file, const char* name, std::vector<T>& values) {
  const size_t bytes = values.size() * sizeof(T);
  std::memcpy(values.data(), bytes_of(file, name, static_cast<int64_t>(bytes)), bytes);
}

}  // namespace

void save_state(const std::filesystem::path& path, const MomentsCollector& collector,
                const Json& info, int64_t documents) {
  const BlockCounts& counts = collector.layers().begin()->second.counts;
  std::vector<TensorToWrite> tensors{
      list("block.documents", "I64", counts.documents), list("block.tokens", "I64", counts.tokens),
      list("block.position_mean", "F64", counts.position_mean),
      list("block.position_scatter", "F64", counts.position_scatter)};
  for (const auto& [number, layer] : collector.layers()) {
    tensors.push_back({layer_name(number),
                       "F64",
                       {layer.bytes / kNumber},
                       layer.bytes,
                       [&collector, &layer = layer](const ByteSink& write) {
                         write(collector.bytes(layer));
                         collector.release(layer);
                       }});
  }
  write_safetensors(path, tensors,
                    {{kInfoKey, info.dump()}, {kDocumentsKey, std::to_string(documents)}});
}

int64_t restore_state(const std::filesystem::path& path, MomentsCollector& collector,
                      const Json& info) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return 0;
  const SafetensorsFile file(path);
  const auto saved = file.metadata().find(kInfoKey);
  const auto documents = file.metadata().find(kDocumentsKey);
  if (saved == file.metadata().end() || documents == file.metadata().end() ||
      saved->second != info.dump()) {
    log::info("{}: belongs to other settings; starting over", path.string());
    return 0;
  }
  BlockCounts counts(collector.blocks());
  read_list(file, "block.documents", counts.documents);
  read_list(file, "block.tokens", counts.tokens);
  read_list(file, "block.position_mean", counts.position_mean);
  read_list(file, "block.position_scatter", counts.position_scatter);
  for (const auto& [number, layer] : collector.layers()) {
    const std::byte* bytes = bytes_of(file, layer_name(number), layer.bytes);
    collector.restore(
        number, {reinterpret_cast<const char*>(bytes), static_cast<size_t>(layer.bytes)}, counts);
  }
  return counts.total_documents();
}

}  // namespace ropewalk
