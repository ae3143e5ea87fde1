#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ropewalk/base/files/json.h"
#include "ropewalk/model/config/described_rope.h"

namespace ropewalk {

// A capture's description of its model: describe_config's JSON, parsed. 0, an empty value or NaN
// means that it is not stated, as in captures of vectors and in users' own captures.
class ModelDescription {
 public:
  ModelDescription() = default;
  // Throws InputError naming `source` and the key where describe_config would not write it.
  ModelDescription(Json described, const std::string& source = "config");  // NOLINT: as it is

  std::string architecture;  // model_type
  int64_t layers = 0;
  int64_t n_q_heads = 0;
  int64_t n_kv_heads = 0;
  int64_t head_dim = 0;
  std::set<int64_t> nope_layers;
  std::vector<int64_t> skipped_layers;         // layers without self-attention
  std::map<int64_t, int64_t> sliding_windows;  // by layer, for layers that have one
  double attention_scale = std::numeric_limits<double>::quiet_NaN();
  std::map<int64_t, double> attention_scale_of_layer;  // layers where it differs
  bool alibi = false;
  std::optional<DescribedRope> rope;

  // The whole description, in the form that is written and compared.
  const Json& json() const { return json_; }
  // Throws InputError naming `source` and the key where layers and heads are not stated, or query
  // heads cannot share key heads.
  void require_heads(const std::string& source) const;

 private:
  Json json_ = Json::object();
};

}  // namespace ropewalk
