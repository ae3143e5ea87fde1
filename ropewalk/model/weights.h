#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ropewalk/checkpoint/checkpoint.h"
#include "ropewalk/kernels/torch.h"
#include "ropewalk/model/config/config.h"
#include "ropewalk/model/layer_weights.h"
#include "ropewalk/model/random_weights.h"

namespace ropewalk {

struct Architecture;

// Reads weights in the wanted dtype onto the wanted device. Tensors are always copied out of the
// file's mapping into aligned memory, so that results do not depend on offsets in files.
class WeightReader {
 public:
  // Checks that every tensor that the extent needs exists with the right shape. With `random`, the
  // checkpoint tells which tensors there are, and their values are fresh.
  WeightReader(const Checkpoint& checkpoint, const Architecture& architecture,
               const ModelConfig& config, const Extent& extent, at::ScalarType dtype,
               at::Device device, const std::optional<RandomWeights>& random = std::nullopt);

  // The input of the first layer, [tokens, d_model]: rows of the embedding table, scaled, plus
  // those of the positions and with a norm where the family has them.
  at::Tensor embed(std::span<const int32_t> tokens) const;

  // The weights of a stage. Safe to call from another thread while the model runs.
  LayerWeights load(int64_t stage, bool with_experts = true) const;
  LayerWeights load_expert(int64_t layer, int64_t expert) const;

  const Extent& extent() const { return extent_; }
  at::Device device() const { return device_; }
  at::ScalarType dtype() const { return dtype_; }
  int64_t element_size() const { return static_cast<int64_t>(c10::elementSize(dtype_)); }

  // The names of the tensors used, in the order of use; empty with `random`.
  std::vector<std::string> names() const { return names(extent_); }
  // Identifies the weights: a digest over every byte of the tensors used, or the seed of fresh
  // ones. Tensors that load() has read are hashed already; the others are read now.
  std::string digest() const { return digest(extent_); }
  // The digest of what a shorter pass reads, and of what this one reads beyond it.
  std::string digest(const Extent& part) const;
  std::string digest_beyond(const Extent& part) const;
  // Reads the whole embedding table for the digest, because embed() reads only some rows.
  void hash_embedding() const;

  // The bytes that load(stage) will hold, and those of one expert; 0 where the layer has none.
  int64_t layer_bytes(int64_t stage) const;
  int64_t expert_bytes(int64_t layer) const;
  // How many experts of a layer are needed.
  int64_t experts(int64_t layer) const;

 private:
  std::string prefix_of(int64_t stage) const;
  std::vector<TensorSpec> specs(int64_t stage, Needed needed) const;  // without experts
  std::vector<TensorSpec> specs(int64_t stage) const { return specs(stage, extent_.of(stage)); }
  std::vector<TensorSpec> all_specs(int64_t stage, Needed needed) const;  // each stack once
  std::vector<std::string> names(const Extent& part) const;
  int64_t bytes_of(const std::vector<TensorSpec>& specs, Needed needed) const;
  LayerWeights read(int64_t layer, const std::vector<TensorSpec>& specs) const;
  void copy_tensor(const at::Tensor& target, const std::string& name, const TensorSpec& spec,
                   Needed needed) const;
  at::Tensor stored_rows(std::span<const int32_t> tokens) const;
  std::vector<std::string> embedding_names() const;
  std::vector<std::string> names_of(int64_t stage, const std::vector<TensorSpec>& specs) const;
  at::Tensor position_rows(int64_t tokens) const;
  at::Tensor random_tensor(const std::string& name, const TensorSpec& spec) const;
  // A small tensor outside the layers, on the device.
  at::Tensor load_vector(const std::string& name, TensorRole role) const;
  void check_shape(const std::string& name, const std::vector<int64_t>& shape) const;

  const Checkpoint& checkpoint_;
  const Architecture& architecture_;
  const ModelConfig& config_;
  Extent extent_;
  at::ScalarType dtype_;
  at::Device device_;
  std::optional<RandomWeights> random_;
  std::string prefix_;  // prefix of all names, e.g. "model."
  std::vector<TensorSpec> head_;
  at::Tensor embedding_norm_;
  at::Tensor embedding_norm_bias_;
};

}  // namespace ropewalk
