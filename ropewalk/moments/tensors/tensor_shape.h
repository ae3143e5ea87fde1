#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ropewalk/model/config/config.h"
#include "ropewalk/moments/head_sampling.h"
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

// What is known of a model of this shape. Throws UsageError where the sizes do not go together, or
// are none that memory could hold.
ModelConfig model_config(const TensorShape& shape);

// All of them: none is left out of what the caller gives.
std::vector<QueryHead> all_heads(const TensorShape& shape);

// What is kept of its vectors.
KeepOptions kept_of(const TensorShape& shape);

}  // namespace ropewalk
