#pragma once

#include <map>
#include <vector>

#include "ropewalk/model/config/config.h"
#include "ropewalk/model/observer.h"
#include "ropewalk/moments/head_sampling.h"
#include "ropewalk/moments/vectors/token_sampler.h"
#include "ropewalk/moments/vectors/vectors_writer.h"

namespace ropewalk {

// Writes the vectors after RoPE of the chosen tokens, for the chosen heads and the KV heads that
// they read. Throws InputError on a value that is not finite, naming layer, head and document.
class VectorsCollector : public Observer {
 public:
  VectorsCollector(const ModelConfig& config, const std::vector<QueryHead>& heads, int64_t context,
                   const TokenSampler& sampler, VectorsWriter& writer);

  std::vector<Tap> taps(int64_t layer) const override;
  void on_vectors(const TappedVectors& taken) override;

 private:
  struct LayerHeads {
    std::vector<int32_t> q_heads;
    std::vector<int32_t> kv_heads;
    std::optional<int32_t> window;
  };
  void collect_kind(const TappedVectors& taken, StreamKind kind, const LayerHeads& heads);

  const TokenSampler& sampler_;
  VectorsWriter& writer_;
  std::map<int64_t, LayerHeads> layers_;
};

}  // namespace ropewalk
