#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ropewalk/checkpoint/config_file.h"
#include "ropewalk/checkpoint/safetensors.h"

namespace ropewalk {

// A tensor's bytes inside a mapped shard.
struct TensorView {
  const SafetensorsFile* shard = nullptr;
  const StoredTensor* info = nullptr;

  const std::byte* data() const { return shard->file().data() + info->offset; }
};

// A Hugging Face checkpoint folder: config.json and *.safetensors, in one file or in shards with an
// index. Opening checks every shard's header; no weight is read until asked for.
class Checkpoint {
 public:
  explicit Checkpoint(const std::filesystem::path& folder);

  const std::filesystem::path& folder() const { return folder_; }
  const ConfigFile& config() const { return config_; }
  bool has(const std::string& tensor) const { return tensors_.contains(tensor); }
  // Throws InputError naming the tensor and the folder.
  TensorView tensor(const std::string& name) const;
  // Bytes of all shards.
  int64_t size() const;
  // Identifies the weights without reading them all: SHA-256 over every tensor's name, dtype, shape
  // and three blocks of its bytes. Any training step changes it.
  std::string fingerprint() const;
  const std::vector<std::unique_ptr<SafetensorsFile>>& shards() const { return shards_; }

 private:
  void open_index(const std::filesystem::path& index);
  void add_shard(const std::filesystem::path& file);

  std::filesystem::path folder_;
  ConfigFile config_;
  std::vector<std::unique_ptr<SafetensorsFile>> shards_;
  std::map<std::string, TensorView> tensors_;
};

}  // namespace ropewalk
