#include "ropewalk/model/layer_stream.h"

#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>

#include <chrono>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "ropewalk/kernels/gpu/gpu.h"

namespace ropewalk {
namespace {

// Returns the allocator's free memory to the device; called once per layer where memory is short.
void give_back_free_memory() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

}  // namespace

LayerStream::LayerStream(const WeightReader& reader, const MemoryPlan& plan)
    : reader_(reader), last_stage_(reader.extent().last_stage()), plan_(plan) {
  kept_.resize(static_cast<size_t>(last_stage_) + 1);
  const at::Device device = reader.device();
  if (device.is_cuda()) side_ = std::make_unique<c10::Stream>(new_stream(device));
  if (plan_.layers_ahead > 0) prefetch(0);
}

LayerStream::~LayerStream() {
  if (next_.valid()) next_.wait();
}

LayerWeights LayerStream::load(int64_t layer) const {
  LayerWeights weights = reader_.load(layer, plan_.keep_experts);
  pack_projections(weights);
  return weights;
}

LayerStream::LoadedLayer LayerStream::load_in_background(
    int64_t layer, const std::shared_ptr<c10::Event>& room) const {
  if (!side_) return {load(layer), nullptr};
  // Where weights come and go, the previous layer must be done with its own first.
  if (room) room->synchronize();
  const c10::StreamGuard guard(*side_);
  LayerWeights weights = load(layer);
  return {std::move(weights), mark(*side_)};
}

void LayerStream::prefetch(int64_t layer) {
  if (kept_[static_cast<size_t>(layer)]) return;
  next_layer_ = layer;
  std::shared_ptr<c10::Event> room;
  if (reader_.device().is_cuda() && !plan_.keep_weights) {
    room = mark(torch_stream(reader_.device()));
  }
  next_ = worker_.run([this, layer, room] { return load_in_background(layer, room); });
}

std::shared_ptr<const LayerWeights> LayerStream::take(int64_t layer, bool more) {
  const auto index = static_cast<size_t>(layer);
  std::shared_ptr<const LayerWeights> weights = kept_[index];
  if (!weights) {
    const auto start = std::chrono::steady_clock::now();
    if (next_.valid() && next_layer_ == layer) {
      LoadedLayer loaded = next_.get();
      if (loaded.copied) {
        const c10::Stream stream = torch_stream(reader_.device());
        loaded.copied->block(stream);
        for (const at::Tensor& tensor : tensors_of(loaded.weights)) tensor.record_stream(stream);
      }
      weights = std::make_shared<const LayerWeights>(std::move(loaded.weights));
    } else {
      weights = std::make_shared<const LayerWeights>(load(layer));
    }
    waited_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (plan_.keep_weights) {
      kept_[index] = weights;
    } else {
      give_back_free_memory();
    }
  }
  if (plan_.layers_ahead > 0 && (layer < last_stage_ || more)) {
    prefetch(layer < last_stage_ ? layer + 1 : 0);
  }
  return weights;
}

}  // namespace ropewalk
