#pragma once

#include <cstdint>
#include <string>

#include "ropewalk/model/config/config.h"
#include "ropewalk/moments/keep_options.h"

namespace ropewalk {

// The shape of a program's vectors.
struct TensorShape {
  int64_t layers = 1;
  int64_t q_heads = 0;
  int64_t kv_heads = 0;  // q_heads is a multiple of it
  int64_t head_dim = 0;
  int64_t blocks = 16;         // blocks of documents, for standard errors
  double attention_scale = 0;  // the factor of q·k in attention; 0: unknown
  int64_t context = 0;         // most tokens per document; 0: unknown
  // The model's config.json, which tells how RoPE turned the vectors. With it, sums before RoPE are
  // kept.
  std::string config{};
  KeepOptions keep{};  // where possible: numbers before RoPE need the model's config
};

// The config of a model with such vectors: its own, or one with sizes alone. Throws UsageError
// where the sizes do not fit together, or are not the model's.
ModelConfig make_config(const TensorShape& shape);

}  // namespace ropewalk
