#pragma once

#include <array>
#include <string>
#include <string_view>

namespace ropewalk {

// How the files of a kind of weights are called: all in one, or numbered shards and a list of them.
struct WeightNames {
  std::string_view stem;
  std::string_view ending;

  std::string single() const;                      // "model.safetensors"
  std::string index() const;                       // "model.safetensors.index.json"
  std::string shard(int number, int count) const;  // "model-00002-of-00003.safetensors"
  int shard_count(const std::string& name) const;  // of that name, 3; of others, 0
};

// In the order of preference.
inline constexpr std::array<WeightNames, 2> kWeightNames{
    {{"model", ".safetensors"}, {"pytorch_model", ".bin"}}};

}  // namespace ropewalk
