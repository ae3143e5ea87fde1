#include "ropewalk/model/layer_stream.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace ropewalk {
namespace {

// Where memory is short, what the allocator keeps for later is given back once a layer.
void give_back_free_memory() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

}  // namespace

LayerStream::LayerStream(const WeightReader& reader, int64_t last_layer, const MemoryPlan& plan)
    : reader_(reader), last_layer_(last_layer), plan_(plan) {
  kept_.resize(static_cast<size_t>(last_layer) + 1);
  if (plan_.layers_ahead > 0) prefetch(0);
}

LayerStream::~LayerStream() {
  if (next_.valid()) next_.wait();
}

void LayerStream::prefetch(int64_t layer) {
  if (kept_[static_cast<size_t>(layer)]) return;
  next_layer_ = layer;
  next_ = std::async(std::launch::async, [this, layer] { return reader_.load(layer); });
}

std::shared_ptr<const LayerWeights> LayerStream::take(int64_t layer, bool more) {
  const auto place = static_cast<size_t>(layer);
  std::shared_ptr<const LayerWeights> weights = kept_[place];
  if (!weights) {
    if (next_.valid() && next_layer_ == layer) {
      weights = std::make_shared<const LayerWeights>(next_.get());
    } else {
      weights = std::make_shared<const LayerWeights>(reader_.load(layer));
    }
    if (plan_.keep_weights) {
      kept_[place] = weights;
    } else {
      give_back_free_memory();
    }
  }
  if (plan_.layers_ahead > 0 && (layer < last_layer_ || more)) {
    prefetch(layer < last_layer_ ? layer + 1 : 0);
  }
  return weights;
}

}  // namespace ropewalk
