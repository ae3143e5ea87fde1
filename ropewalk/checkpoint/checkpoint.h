#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "ropewalk/checkpoint/known_headers.h"
#include "ropewalk/checkpoint/tensor_hashes.h"

namespace ropewalk {

// The bytes of a tensor inside a mapped shard.
struct TensorView {
  const WeightsFile* shard = nullptr;
  const StoredTensor* info = nullptr;

  const std::byte* data() const { return shard->file().data() + info->offset; }
};

// A Hugging Face checkpoint folder: config.json and weights in one file or in shards with an index,
// either model.safetensors or pytorch_model.bin. Opening it checks every shard's list of tensors;
// weights are read on demand.
class Checkpoint {
 public:
  // `known` holds the headers of files that were read before.
  explicit Checkpoint(const std::filesystem::path& folder,
                      std::shared_ptr<KnownHeaders> known = std::make_shared<KnownHeaders>());

  const std::filesystem::path& folder() const { return folder_; }
  const JsonReader& config() const { return *config_; }
  bool has(const std::string& tensor) const { return tensors_.contains(tensor); }
  // Returns the tensor of this name. Throws InputError where the checkpoint has no such tensor, or
  // where its dtype cannot be read.
  TensorView tensor(const std::string& name) const;
  // The type of most of the weights' bytes, spelled as in config.json: "float32", "float16" or
  // "bfloat16"; "another type" for any other.
  std::string stored_dtype() const;
  // The bytes of all shards.
  int64_t size() const;
  // A digest over name, dtype, shape and every byte of these tensors, or of all tensors. It reads
  // tensors whose hash is neither known yet nor remembered from an earlier run (tensor_hashes.h).
  std::string digest(const std::vector<std::string>& names) const;
  std::string digest() const;
  // The hash of a tensor's bytes where it is known; add_hash() makes it known.
  std::optional<ContentHash> known_hash(const std::string& tensor) const;
  void add_hash(const std::string& tensor, const ContentHash& hash) const;
  const std::vector<std::unique_ptr<WeightsFile>>& shards() const { return shards_; }

  // Makes this object read weights around the page cache from now on, into memory that it holds
  // until its end (base/files/direct_reading.h). Call it before other threads know of the object.
  void read_directly();
  bool is_read_directly() const;
  // With read_directly(), reads these tensors in this order, several parts at a time, and waits for
  // parts that other threads read. Otherwise it has no effect.
  void read(const std::vector<std::string>& tensors, std::stop_token stop = {}) const;
  // The number of bytes that read() has read.
  int64_t bytes_read() const;
  // Whether opening the folder again would find the same files.
  bool is_current() const;

 private:
  void open_index(const std::filesystem::path& index);
  void add_shard(const std::filesystem::path& file);
  TensorHashes& hashes_of(const std::string& tensor) const;
  void hash_unknown(const std::vector<std::string>& names) const;

  std::shared_ptr<KnownHeaders> known_;
  std::filesystem::path folder_;
  std::shared_ptr<const JsonReader> config_;
  std::vector<std::unique_ptr<WeightsFile>> shards_;
  std::map<std::string, TensorView> tensors_;
  std::map<const WeightsFile*, std::unique_ptr<TensorHashes>> hashes_;
};

}  // namespace ropewalk
