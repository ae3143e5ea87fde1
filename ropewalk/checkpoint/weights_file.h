#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ropewalk/base/files/content_hash.h"
#include "ropewalk/base/files/mapped_file.h"

namespace ropewalk {

// The element types weights may have; a checkpoint may hold others as long as they are not asked
// for.
enum class StoredType { f32, f16, bf16, other };

// What bytes of a file sum up to.
struct Checksum {
  int64_t offset = 0;  // of the first of them
  int64_t bytes = 0;
  uint32_t crc32 = 0;
};

struct StoredTensor {
  StoredType type = StoredType::other;
  std::string type_name;  // as the file spells it, e.g. "BF16"
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;  // in elements; empty: rows lie side by side
  int64_t offset = 0;            // of the first byte, from the start of the file
  int64_t bytes = 0;             // from the first element to the end of the last
  std::optional<Checksum> sum;   // of the storage that it lies in, where the file has one
};

// What a file of weights says of itself.
struct WeightsHeader {
  std::map<std::string, StoredTensor> tensors;
  std::map<std::string, std::string> metadata;  // of safetensors
};

// Throws InputError where the bytes are others; `what`: of the file they are, for the message.
void require_sum(const MappedFile& file, const Checksum& sum, const std::string& what,
                 const ChunkRunner& run);

// "[3, 4]"
std::string format_shape(const std::vector<int64_t>& shape);

class KnownHeaders;

// A file of named tensors, mapped. Every one of them lies inside it.
class WeightsFile {
 public:
  // `read` checks that every tensor lies inside the file; `known`: headers that were read before,
  // or null.
  WeightsFile(const std::filesystem::path& path, KnownHeaders* known,
              WeightsHeader (*read)(const MappedFile& file));
  virtual ~WeightsFile() = default;
  WeightsFile(const WeightsFile&) = delete;
  WeightsFile& operator=(const WeightsFile&) = delete;

  const std::filesystem::path& path() const { return file_.path(); }
  const std::map<std::string, StoredTensor>& tensors() const { return header_->tensors; }
  const MappedFile& file() const { return file_; }
  void read_directly() { file_.read_directly(); }
  // That a tensor's bytes are those that were written, where the file tells. Reads each storage
  // once. Throws InputError naming the tensor. From any thread.
  void require_intact(const std::string& tensor, const ChunkRunner& run = run_chunks) const;

 protected:
  MappedFile file_;
  std::shared_ptr<const WeightsHeader> header_;

 private:
  mutable std::mutex mutex_;
  mutable std::set<int64_t> intact_;  // offsets of storages
};

}  // namespace ropewalk
