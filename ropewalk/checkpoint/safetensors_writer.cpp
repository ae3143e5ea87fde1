#include "ropewalk/checkpoint/safetensors_writer.h"

#include <cstring>

#include "ropewalk/base/atomic_file.h"
#include "ropewalk/base/json.h"

namespace ropewalk {

void write_safetensors(const std::filesystem::path& path, const std::vector<TensorToWrite>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  constexpr size_t kAlignment = 8;
  Json header = Json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  size_t offset = 0;
  for (const TensorToWrite& tensor : tensors) {
    header[tensor.name] = {{"dtype", tensor.type_name},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, offset + tensor.bytes.size()}}};
    offset += tensor.bytes.size();
  }
  std::string text = header.dump();
  text.append((kAlignment - text.size() % kAlignment) % kAlignment, ' ');
  const uint64_t size = text.size();
  std::string start(sizeof size, '\0');
  std::memcpy(start.data(), &size, sizeof size);
  std::vector<std::string_view> parts{start, text};
  for (const TensorToWrite& tensor : tensors) parts.push_back(tensor.bytes);
  write_file_atomically(path, parts);
}

}  // namespace ropewalk
