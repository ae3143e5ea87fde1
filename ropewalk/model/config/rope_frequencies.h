#pragma once

#include <cstdint>

#include "ropewalk/kernels/torch.h"

namespace ropewalk {

struct RopeSettings;

// The angle by which RoPE turns each pair per token, [rotary_dim / 2] float32 in radians, and the
// factor of queries and keys (YaRN, long RoPE), for a document of that many tokens, on which
// dynamic and long RoPE depend. The operations and their order are those of transformers.
struct RopeFrequencies {
  at::Tensor angles;
  double attention_factor = 1;
};
RopeFrequencies rope_frequencies(const RopeSettings& settings, int64_t tokens);

}  // namespace ropewalk
