#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "ropewalk/model/config/config.h"

namespace ropewalk {

// How queries and keys are turned and scaled by position, as describe_config wrote it.
struct DescribedRope {
  std::vector<RopeSettings> ropes;           // empty: a model without RoPE
  std::map<int64_t, int64_t> rope_of_layer;  // layers whose index is not 0
  std::optional<ModelConfig::QueryScaling> query_scaling;

  // Throws InputError naming `source` where it turns more dimensions than `head_dim`.
  void require_fit(int64_t head_dim, const std::string& source) const;
  // The settings of a layer; null without RoPE.
  const RopeSettings* of_layer(int64_t layer) const;
};

// Reads a description; returns nothing where it has no key `rope`, as in captures of vectors.
// Throws InputError naming source and key where describe_config would not write it.
std::optional<DescribedRope> read_described_rope(const JsonReader& config);

}  // namespace ropewalk
