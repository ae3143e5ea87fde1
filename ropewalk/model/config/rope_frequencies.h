#pragma once

#include <cstdint>

#include "ropewalk/kernels/torch.h"

namespace ropewalk {

struct RopeSettings;

// How far RoPE turns each pair per token, [rotary_dim / 2] float32 in radians, and by what it
// multiplies queries and keys beside (YaRN, long RoPE). In a document of so many tokens, which
// dynamic and long RoPE look at. The operations and their order are those of transformers.
struct RopeFrequencies {
  at::Tensor angles;
  double attention_factor = 1;
};
RopeFrequencies rope_frequencies(const RopeSettings& settings, int64_t tokens);

}  // namespace ropewalk
