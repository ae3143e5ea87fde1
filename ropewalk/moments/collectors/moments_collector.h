#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ropewalk/base/files/scratch.h"
#include "ropewalk/kernels/gpu/gpu.h"
#include "ropewalk/model/config/config.h"
#include "ropewalk/model/observer.h"
#include "ropewalk/moments/accumulators/accumulator.h"
#include "ropewalk/moments/block_counts.h"
#include "ropewalk/moments/head_sampling.h"

namespace ropewalk {

class Communicator;

std::map<int64_t, LayerStreams> layer_streams(const std::vector<QueryHead>& heads, int64_t group);

// Options of MomentsCollector.
struct CollectorOptions {
  int64_t blocks = 16;
  std::optional<std::filesystem::path> scratch{};  // a folder
  KeepOptions keep = keep_nothing();               // besides second moments
  int64_t context = 0;                             // these two as in CaptureShape
  int64_t documents = 0;

  CaptureShape shape(int64_t head_dim) const {
    return {head_dim, kPostRope, keep, context, documents};
  }
};

// The bytes of all accumulators' fields: of all layers together, and of the largest layer.
struct MomentsBytes {
  int64_t all = 0;
  int64_t layer = 0;

  // The bytes that stay in memory within a budget: all, where they take at most a quarter, so that
  // weights and documents keep the rest; otherwise one layer.
  int64_t held(int64_t budget) const { return all <= budget / 4 ? all : layer; }
};
MomentsBytes moments_bytes(const ModelConfig& config, const std::vector<QueryHead>& heads,
                           const CollectorOptions& options);

// The most bytes of the device that accumulators hold at once, besides their fields.
int64_t moments_workspace(const ModelConfig& config, const CaptureShape& shape, int64_t tokens,
                          at::ScalarType dtype, const at::Device& device);

// Feeds every token of the chosen heads to all accumulators, in blocks of documents. Memory does
// not depend on the number of tokens; with a `scratch` folder all layers but the current one are
// kept in a file there. Throws InputError on a value that is not finite, naming layer, head and
// document. Vectors on a GPU are accumulated there: call fetch() before reading.
class MomentsCollector : public Observer {
 public:
  MomentsCollector(const ModelConfig& config, const std::vector<QueryHead>& heads,
                   const CollectorOptions& options);

  std::vector<Tap> taps(int64_t layer) const override;
  void on_vectors(const TappedVectors& taken) override;
  int64_t workspace(int64_t tokens, at::ScalarType dtype, const at::Device& device) const override;
  // Pre-faults the memory of layers(), layer by layer until a signal arrives, so that the final
  // copy from a GPU does not wait for pages. May be called from any thread.
  void prefault_memory() const;
  // Copies numbers on a GPU into layers().
  void fetch();
  // fetch() for the last time: frees the memory on the GPU.
  void fetch_all();
  // fetch_all() that leaves out blocks with values that are not finite, and returns their numbers.
  // Throws InputError where a field without blocks has such values.
  std::set<int64_t> fetch_finite();
  // Empties a block in all layers; fields without blocks keep their numbers. Call it after
  // fetch_all().
  void leave_out(int64_t block);
  // Gives an empty block of a layer its numbers, [streams, width] by accumulator and field, and the
  // counts, of one block. Fields without blocks are added.
  void fill(int64_t layer, int64_t block, const std::vector<std::vector<at::Tensor>>& numbers,
            const BlockCounts& counts);

  // The fields of one accumulator, in their order; each [streams, blocks, width].
  using Fields = std::vector<at::Tensor>;
  struct Layer {
    std::vector<Fields> fields;  // by accumulator; views of the scratch memory
    BlockCounts counts;          // equal in every layer once a group is done
    int64_t offset = 0;          // of its bytes in the scratch memory
    int64_t bytes = 0;
  };
  const std::map<int64_t, Layer>& layers() const { return layers_; }
  const std::map<int64_t, LayerStreams>& streams() const { return streams_; }
  const CaptureShape& shape() const { return shape_; }
  int64_t blocks() const { return blocks_; }
  // The layer joined over all processes, in the first one; in the others its numbers are
  // meaningless. With one process it is the layer itself. Collective.
  Layer joint_layer(int64_t number, const Communicator& processes) const;
  // Replaces every layer, or one, of the first process by the joined one. Collective.
  void join_in_first(const Communicator& processes);
  void join_in_first(int64_t number, const Communicator& processes);
  // All of a layer's numbers, float64, as bytes; restore() sets them, with their counts.
  std::string_view bytes(const Layer& layer) const;
  void restore(int64_t layer, std::string_view bytes, const BlockCounts& counts);
  // Called when a layer is not needed for now, so that it may leave memory.
  void release(const Layer& layer) const { scratch_.release(layer.offset, layer.bytes); }

 private:
  static constexpr int64_t kNoDocument = std::numeric_limits<int64_t>::max();
  // A layer's numbers on a GPU, laid out as in the scratch memory.
  struct GpuLayer {
    at::Tensor numbers;
    std::vector<Fields> fields;
    at::Tensor q_heads;
    at::Tensor kv_heads;
    at::Tensor bad;
    bool fetched = false;  // the scratch memory holds the same numbers
  };
  // Feeds the accumulators that want vectors of this point.
  void add(const TappedVectors& taken, const std::vector<Fields>& fields, int64_t block,
           const TokenSet& held, const GpuLayer* gpu) const;
  std::vector<Fields> split(const at::Tensor& numbers, const LayerStreams& streams) const;
  GpuLayer& gpu_layer(int64_t number, const at::Device& device);
  void fetch(int64_t number, GpuLayer& gpu);
  at::Tensor numbers(const Layer& layer) const;

  ModelConfig config_;
  CaptureShape shape_;
  int64_t blocks_;
  std::map<int64_t, LayerStreams> streams_;
  Scratch scratch_;
  std::map<int64_t, Layer> layers_;
  std::map<int64_t, GpuLayer> gpu_;
  // heads on the GPU; layers mostly share them
  std::map<std::vector<int64_t>, at::Tensor> gpu_heads_;
  std::map<std::string, std::vector<size_t>, std::less<>> wanting_;  // accumulators, by point
  SideStream side_;             // GPU: accumulators run in parallel with the rest of the layer
  bool spooled_;                // layers other than the current one leave memory
  int64_t latest_ = -1;         // layer
  std::set<std::string> seen_;  // points of the current document that were seen
};

}  // namespace ropewalk
