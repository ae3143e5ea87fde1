#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
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
  std::vector<int64_t> strides;  // in elements; empty: rows lie side by side
  int64_t offset = 0;            // of the first byte, from the start of the file
  int64_t bytes = 0;             // from the first element to the end of the last
};

// "[3, 4]"
std::string format_shape(const std::vector<int64_t>& shape);

// A file of named tensors, mapped. Whoever makes one has checked that every tensor lies inside it.
class WeightsFile {
 public:
  explicit WeightsFile(const std::filesystem::path& path) : file_(path) {}
  virtual ~WeightsFile() = default;
  WeightsFile(const WeightsFile&) = delete;
  WeightsFile& operator=(const WeightsFile&) = delete;

  const std::filesystem::path& path() const { return file_.path(); }
  const std::map<std::string, StoredTensor>& tensors() const { return tensors_; }
  const MappedFile& file() const { return file_; }
  void read_directly() { file_.read_directly(); }

 protected:
  MappedFile file_;
  std::map<std::string, StoredTensor> tensors_;
};

}  // namespace ropewalk
