#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ropewalk/base/mapped_file.h"

namespace ropewalk {

// The element types weights may have; a checkpoint may hold others as long as they are not asked
// for.
enum class StoredType { f32, f16, bf16, other };

struct StoredTensor {
  StoredType type = StoredType::other;
  std::string type_name;  // as the file spells it, e.g. "BF16"
  std::vector<int64_t> shape;
  int64_t offset = 0;  // of the first byte, from the start of the file
  int64_t bytes = 0;
};

// "[3, 4]"
std::string format_shape(const std::vector<int64_t>& shape);

// One .safetensors file, mapped. Opening reads and checks the whole header: sizes, offsets,
// overlaps, gaps, types and shapes; after that every tensor lies inside the file. Throws InputError
// naming the file and tensor.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return file_.path(); }
  const std::map<std::string, StoredTensor>& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const MappedFile& file() const { return file_; }
  // The header's JSON text: identifies names, shapes and places of all tensors.
  std::string_view header() const { return header_; }

 private:
  MappedFile file_;
  std::string_view header_;
  std::map<std::string, StoredTensor> tensors_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace ropewalk
