#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ropewalk {

struct TensorToWrite {
  std::string name;
  std::string type_name;  // "F64", "I64", …
  std::vector<int64_t> shape;
  std::string_view bytes;  // little-endian, by rows
};

// Writes a .safetensors file atomically. Keys are sorted and tensors lie in the order given, so
// equal input gives equal bytes.
void write_safetensors(const std::filesystem::path& path, const std::vector<TensorToWrite>& tensors,
                       const std::map<std::string, std::string>& metadata);

}  // namespace ropewalk
