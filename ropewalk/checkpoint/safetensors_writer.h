#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ropewalk/base/files/atomic_file.h"

namespace ropewalk {

struct TensorToWrite {
  std::string name;
  std::string type_name;  // "F64", "I64", …
  std::vector<int64_t> shape;
  int64_t bytes = 0;
  // Writes the bytes (little-endian, row by row), in any number of pieces.
  std::function<void(const ByteSink&)> produce;
};

// Writes a .safetensors file atomically. Keys are sorted. Tensors are written in the order given,
// except that wider types come first, so that all are aligned; equal input gives equal bytes.
void write_safetensors(const std::filesystem::path& path, std::vector<TensorToWrite> tensors,
                       const std::map<std::string, std::string>& metadata);

}  // namespace ropewalk
