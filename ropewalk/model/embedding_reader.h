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

// Reads what the first layer reads: rows of the embedding table, scaled, with those of the
// positions and a norm where the family has them.
class EmbeddingReader {
 public:
  // Checks that its tensors are there with the right shape. `prefix` is that of all names; with
  // `random`, values are fresh.
  EmbeddingReader(const Checkpoint& checkpoint, const Architecture& architecture,
                  const ModelConfig& config, const std::string& prefix, at::ScalarType dtype,
                  at::Device device, const std::optional<RandomWeights>& random);

  // [tokens, d_model], on the device.
  at::Tensor read(std::span<const int32_t> tokens) const;
  // Of its tensors, the table's first.
  std::vector<std::string> names() const;

 private:
  at::Tensor stored_rows(std::span<const int32_t> tokens) const;
  at::Tensor position_rows(int64_t tokens) const;
  // A small tensor, on the device.
  at::Tensor load_vector(const std::string& name, TensorRole role) const;

  const Checkpoint& checkpoint_;
  const Architecture& architecture_;
  const ModelConfig& config_;
  std::string prefix_;
  at::ScalarType dtype_;
  at::Device device_;
  std::optional<RandomWeights> random_;
  at::Tensor norm_;
  at::Tensor norm_bias_;
};

}  // namespace ropewalk
