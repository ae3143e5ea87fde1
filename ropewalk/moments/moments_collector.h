#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "ropewalk/model/forward.h"
#include "ropewalk/moments/head_sampling.h"
#include "ropewalk/moments/moments.h"

namespace ropewalk {

// A layer's streams: the chosen query heads and the KV heads they read, both sorted.
struct LayerStreams {
  std::vector<int64_t> q_heads;
  std::vector<int64_t> kv_heads;
};
std::map<int64_t, LayerStreams> layer_streams(const std::vector<QueryHead>& heads, int64_t group);

// Accumulates the moments of every token of the chosen heads, in blocks of documents. Memory does
// not depend on the number of tokens. Throws InputError on a value that is not finite, naming
// layer, head and document.
class MomentsCollector : public Collector {
 public:
  MomentsCollector(const ModelConfig& config, const std::vector<QueryHead>& heads, int64_t blocks);

  bool wants(int64_t layer) const override { return streams_.contains(layer); }
  void collect(const QueryKey& taken) override;

  struct Layer {
    StreamMoments queries;  // streams in the order of LayerStreams
    StreamMoments keys;
    BlockCounts counts;  // the same in every layer once a group is done
  };
  const std::map<int64_t, Layer>& layers() const { return layers_; }
  const std::map<int64_t, LayerStreams>& streams() const { return streams_; }

 private:
  void add(const at::Tensor& vectors, const std::vector<int64_t>& heads, const QueryKey& taken,
           const char* what, const BlockCounts& counts, StreamMoments& moments);

  int64_t blocks_;
  std::map<int64_t, LayerStreams> streams_;
  std::map<int64_t, Layer> layers_;
};

}  // namespace ropewalk
