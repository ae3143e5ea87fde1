#pragma once

#include <future>
#include <memory>
#include <vector>

#include "ropewalk/base/processes/worker.h"
#include "ropewalk/model/memory_plan.h"
#include "ropewalk/model/weights.h"

namespace c10 {
struct Event;
class Stream;
}  // namespace c10

namespace ropewalk {

// Hands out the stages of a reader's extent in order, again for every group of documents. The next
// layer is read on another thread while the current one computes; all layers stay in memory where
// the plan says so. Projections are packed for this processor, where it has a kernel for them. On a
// GPU, copies run in parallel with kernels, on a stream of their own.
class LayerStream {
 public:
  LayerStream(const WeightReader& reader, const MemoryPlan& plan);
  ~LayerStream();

  // The weights of `layer`, which must be the layer after the last one taken (0 after the last
  // layer). `more` says whether another round follows, so that nothing is read in vain.
  std::shared_ptr<const LayerWeights> take(int64_t layer, bool more);
  // The seconds that the caller has waited for weights so far.
  double seconds_waited() const { return waited_; }

 private:
  struct LoadedLayer {
    LayerWeights weights;
    std::shared_ptr<c10::Event> copied;  // on a GPU: done once the weights have arrived
  };

  LayerWeights load(int64_t layer) const;
  void prefetch(int64_t layer);
  LoadedLayer load_in_background(int64_t layer, const std::shared_ptr<c10::Event>& room) const;

  const WeightReader& reader_;
  int64_t last_stage_;
  MemoryPlan plan_;
  std::vector<std::shared_ptr<const LayerWeights>> kept_;
  std::unique_ptr<c10::Stream> side_;  // for copies, on a GPU
  Worker worker_;
  std::future<LoadedLayer> next_;
  int64_t next_layer_ = -1;
  double waited_ = 0;
};

}  // namespace ropewalk
