#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ropewalk/kernels/torch.h"
#include "ropewalk/model/config/config.h"
#include "ropewalk/model/layer_weights.h"

namespace ropewalk {

// Freshly initialised weights, drawn as the model families do: projections and embeddings normal
// with config.json's initializer_range, norms 1 (0 where the family adds 1), biases 0. A tensor
// depends only on the seed and its name, not on what else was read.
class RandomWeights {
 public:
  RandomWeights(int64_t seed, const ModelConfig& config);

  // float32, on the CPU.
  at::Tensor tensor(TensorRole role, const std::string& name,
                    const std::vector<int64_t>& shape) const;
  // Rows of the embedding table, [tokens, d_model]; the first rows of the table of positions.
  at::Tensor embedding(std::span<const int32_t> tokens) const;
  at::Tensor positions(int64_t tokens) const;

  int64_t seed() const { return seed_; }

 private:
  int64_t seed_;
  double range_;
  int64_t d_model_;
  bool norms_add_one_;
};

}  // namespace ropewalk
