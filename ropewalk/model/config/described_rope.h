#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "ropewalk/model/config/config.h"

namespace ropewalk {

// What turns and scales queries and keys by position, as describe_config wrote it.
struct DescribedRope {
  std::vector<RopeSettings> ropes;           // none: a model without RoPE
  std::map<int64_t, int64_t> rope_of_layer;  // where it is not the first
  std::optional<ModelConfig::QueryScaling> query_scaling;

  // Throws InputError naming `source` where it turns more than vectors of so many dimensions have.
  void require_fit(int64_t head_dim, const std::string& source) const;
  // Of a layer; null without any.
  const RopeSettings* of_layer(int64_t layer) const;
};

// Reads a description; none where it has no key `rope`, as in captures of vectors. Throws
// InputError naming source and key where it is not what describe_config writes.
std::optional<DescribedRope> read_described_rope(const JsonReader& config);

}  // namespace ropewalk
