#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "ropewalk/checkpoint/weights_file.h"

namespace ropewalk {

class KnownHeaders;

// One .safetensors file, mapped. Opening reads and checks the whole header: sizes, offsets,
// overlaps, gaps, types and shapes; after that every tensor lies inside the file. Throws InputError
// naming the file and tensor.
class SafetensorsFile : public WeightsFile {
 public:
  // `known`: headers that were read before, or null.
  explicit SafetensorsFile(const std::filesystem::path& path, KnownHeaders* known = nullptr);

  const std::map<std::string, std::string>& metadata() const { return header_->metadata; }
};

}  // namespace ropewalk
