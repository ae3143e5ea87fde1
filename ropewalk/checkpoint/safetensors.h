#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ropewalk/checkpoint/weights_file.h"

namespace ropewalk {

// One .safetensors file, mapped. Opening reads and checks the whole header: sizes, offsets,
// overlaps, gaps, types and shapes; after that every tensor lies inside the file. Throws InputError
// naming the file and tensor.
class SafetensorsFile : public WeightsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);

  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  // The header's JSON text: identifies names, shapes and places of all tensors.
  std::string_view header() const { return header_; }

 private:
  std::string_view header_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace ropewalk
