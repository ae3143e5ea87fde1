#pragma once

#include <cstdint>
#include <string>

#include "ropewalk/model/config/config.h"
#include "ropewalk/moments/keep_options.h"

namespace ropewalk {

// What vectors a program has.
struct TensorShape {
  int64_t layers = 1;
  int64_t q_heads = 0;
  int64_t kv_heads = 0;  // q_heads is a multiple
  int64_t head_dim = 0;
  int64_t blocks = 16;         // of documents, for standard errors
  double attention_scale = 0;  // what attention multiplies q·k by; 0: unknown
  int64_t context = 0;         // tokens per document at most; 0: unknown
  // The model's config.json: it says how RoPE turned the vectors. Sums before it are kept then.
  std::string config{};
  KeepOptions keep{};  // where it can be: what stood before RoPE needs the model's config
};

// The config of a model with such vectors: its own, or sizes alone. Throws UsageError where the
// sizes do not go together, or are not the model's.
ModelConfig config_of(const TensorShape& shape);

}  // namespace ropewalk
