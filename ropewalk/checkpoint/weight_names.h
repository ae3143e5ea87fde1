#pragma once

#include <array>
#include <string>
#include <string_view>

namespace ropewalk {

// The names of one kind of weight files: a single file, or numbered shards with an index.
struct WeightNames {
  std::string_view stem;
  std::string_view ending;

  std::string single() const;                      // "model.safetensors"
  std::string index() const;                       // "model.safetensors.index.json"
  std::string shard(int number, int count) const;  // "model-00002-of-00003.safetensors"
  // 3 for that name; 0 for a name that is not a shard's
  int shard_count(const std::string& name) const;
};

// In the order of preference.
inline constexpr std::array<WeightNames, 2> kWeightNames{
    {{"model", ".safetensors"}, {"pytorch_model", ".bin"}}};

}  // namespace ropewalk
