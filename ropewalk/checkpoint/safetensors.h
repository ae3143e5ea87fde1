#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "ropewalk/checkpoint/weights_file.h"

namespace ropewalk {

class KnownHeaders;

// One .safetensors file, mapped. Opening it reads and checks the whole header: sizes, offsets,
// overlaps, gaps, types and shapes, so that every tensor is known to lie inside the file. Throws
// InputError naming the file and tensor.
class SafetensorsFile : public WeightsFile {
 public:
  // `known` holds headers that were read before; may be null.
  explicit SafetensorsFile(const std::filesystem::path& path, KnownHeaders* known = nullptr);

  const std::map<std::string, std::string>& metadata() const { return header_->metadata; }
};

}  // namespace ropewalk
