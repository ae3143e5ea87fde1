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

// What a capture says of its model: describe_config's JSON, read once. 0, empty and NaN: not
// stated, as of vectors and of captures of somebody's own.
class ModelDescription {
 public:
  ModelDescription() = default;
  // Throws InputError naming `source` and the key where it is not what describe_config writes.
  ModelDescription(Json described, const std::string& source = "config");  // NOLINT: as it is

  std::string architecture;  // model_type
  int64_t layers = 0;
  int64_t n_q_heads = 0;
  int64_t n_kv_heads = 0;
  int64_t head_dim = 0;
  std::set<int64_t> nope_layers;
  std::vector<int64_t> skipped_layers;        // without self-attention
  std::map<int64_t, double> sliding_windows;  // by layer, of those that have one
  double attention_scale = std::numeric_limits<double>::quiet_NaN();
  std::map<int64_t, double> attention_scale_of_layer;  // where it is another
  bool alibi = false;
  std::optional<DescribedRope> rope;

  // All of it, as it is written and compared.
  const Json& json() const { return json_; }
  // Throws InputError naming `source` and the key where it is not stated which layers and heads
  // there are, or query heads cannot share key heads.
  void require_heads(const std::string& source) const;

 private:
  Json json_ = Json::object();
};

}  // namespace ropewalk
