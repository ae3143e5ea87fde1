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

// The element types that weights may have; a checkpoint may hold others as long as nobody reads
// them.
enum class StoredType { f32, f16, bf16, other };

// The checksum of a range of bytes of a file.
struct Checksum {
  int64_t offset = 0;  // offset of the first byte
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
  std::optional<Checksum> sum;   // checksum of its storage, where the file has one
};

// The header of a file of weights.
struct WeightsHeader {
  std::map<std::string, StoredTensor> tensors;
  std::map<std::string, std::string> metadata;  // only of safetensors
};

// Throws InputError where the bytes have another checksum; `what` names the bytes in the message.
void require_sum(const MappedFile& file, const Checksum& sum, const std::string& what,
                 const ChunkRunner& run);

// "[3, 4]"
std::string format_shape(const std::vector<int64_t>& shape);

class KnownHeaders;

// A file of named tensors, mapped. Every tensor lies inside it.
class WeightsFile {
 public:
  // `read` checks that every tensor lies inside the file; `known` holds headers that were read
  // before and may be null.
  WeightsFile(const std::filesystem::path& path, KnownHeaders* known,
              WeightsHeader (*read)(const MappedFile& file));
  virtual ~WeightsFile() = default;
  WeightsFile(const WeightsFile&) = delete;
  WeightsFile& operator=(const WeightsFile&) = delete;

  const std::filesystem::path& path() const { return file_.path(); }
  const std::map<std::string, StoredTensor>& tensors() const { return header_->tensors; }
  const MappedFile& file() const { return file_; }
  void read_directly() { file_.read_directly(); }
  // Checks a tensor's bytes against the file's checksum, where it has one. Reads each storage once.
  // Throws InputError naming the tensor. May be called from any thread.
  void require_intact(const std::string& tensor, const ChunkRunner& run = run_chunks) const;

 protected:
  MappedFile file_;
  std::shared_ptr<const WeightsHeader> header_;

 private:
  mutable std::mutex mutex_;
  mutable std::set<int64_t> intact_;  // offsets of storages that were checked
};

}  // namespace ropewalk
