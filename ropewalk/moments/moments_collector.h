#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "ropewalk/base/scratch.h"
#include "ropewalk/model/forward.h"
#include "ropewalk/moments/head_sampling.h"
#include "ropewalk/moments/moments.h"

namespace c10 {
struct Event;
class Stream;
}  // namespace c10

namespace ropewalk {

// A layer's streams: the chosen query heads and the KV heads they read, both sorted.
struct LayerStreams {
  std::vector<int64_t> q_heads;
  std::vector<int64_t> kv_heads;
};
std::map<int64_t, LayerStreams> layer_streams(const std::vector<QueryHead>& heads, int64_t group);

// Bytes of float64 moments: of all layers together, and of the largest layer.
struct MomentsBytes {
  int64_t all = 0;
  int64_t layer = 0;

  // What stays in memory of a budget: everything where that takes no more than a quarter, so that
  // weights and documents keep the rest; else one layer.
  int64_t held(int64_t budget) const { return all <= budget / 4 ? all : layer; }
};
MomentsBytes moments_bytes(const ModelConfig& config, const std::vector<QueryHead>& heads,
                           int64_t blocks);

// Accumulates the moments of every token of the chosen heads, in blocks of documents. Memory does
// not depend on the number of tokens; with a `scratch` folder all but the layer at hand are kept in
// a file there. Throws InputError on a value that is not finite, naming
// layer, head and document. What comes from a GPU is accumulated there: settle() before reading.
class MomentsCollector : public Collector {
 public:
  MomentsCollector(const ModelConfig& config, const std::vector<QueryHead>& heads, int64_t blocks,
                   const std::optional<std::filesystem::path>& scratch = std::nullopt);
  ~MomentsCollector() override;

  bool wants(int64_t layer) const override { return streams_.contains(layer); }
  void collect(const QueryKey& taken) override;
  // Brings what a GPU holds into layers().
  void settle();

  struct Layer {
    StreamMoments queries;  // streams in the order of LayerStreams; views of the scratch memory
    StreamMoments keys;
    BlockCounts counts;  // the same in every layer once a group is done
    int64_t offset = 0;  // of its bytes in the scratch memory
    int64_t bytes = 0;
  };
  const std::map<int64_t, Layer>& layers() const { return layers_; }
  const std::map<int64_t, LayerStreams>& streams() const { return streams_; }
  int64_t blocks() const { return blocks_; }
  // The layer as all processes together have it, in the first one; in the others its numbers mean
  // nothing. Counts are joint_counts(). Alone: the layer itself. Collective.
  Layer joint_layer(int64_t number, const BlockCounts& all) const;
  // Makes that of every layer the first process's own. Collective.
  void join_in_first();
  // All of a layer's numbers, float64; and back, with the counts that go with them.
  std::string_view bytes(const Layer& layer) const;
  void restore(int64_t layer, std::string_view bytes, const BlockCounts& counts);
  // Done with a layer for now: it may leave memory.
  void release(const Layer& layer) const { scratch_.release(layer.offset, layer.bytes); }

 private:
  void add(const at::Tensor& vectors, const std::vector<int64_t>& heads, const QueryKey& taken,
           const char* what, const BlockCounts& counts, StreamMoments& moments);
  // A layer's numbers on a GPU, laid out as those in the scratch memory.
  struct GpuLayer {
    at::Tensor numbers;
    StreamMoments queries;
    StreamMoments keys;
    at::Tensor q_heads;  // int32
    at::Tensor kv_heads;
    at::Tensor bad;  // by stream, the first document that is not finite
  };
  GpuLayer move_to_gpu(int64_t number, const at::Device& device) const;
  void collect_on_gpu(const QueryKey& taken, const BlockCounts& counts);
  void settle(int64_t number, const GpuLayer& gpu);
  // Lets go of what the moments stream still read, in the order of the GPU's main stream.
  void finish_latest();
  at::Tensor numbers(const Layer& layer) const;

  int64_t blocks_;
  std::map<int64_t, LayerStreams> streams_;
  Scratch scratch_;
  std::map<int64_t, Layer> layers_;
  std::map<int64_t, GpuLayer> gpu_;
  // On a GPU moments are computed beside the rest of the layer, on a stream of their own; what they
  // read stays until they are done.
  struct Running {
    at::Tensor q;
    at::Tensor k;
    std::shared_ptr<c10::Event> done;
  };
  std::unique_ptr<c10::Stream> side_;
  std::optional<Running> running_;
  bool spooled_;         // layers other than the one at hand leave memory
  int64_t latest_ = -1;  // layer
};

}  // namespace ropewalk
