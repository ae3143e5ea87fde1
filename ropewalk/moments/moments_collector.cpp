#include "ropewalk/moments/moments_collector.h"

#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>
#include <tuple>

#include "ropewalk/base/error.h"
#include "ropewalk/base/processes.h"
#include "ropewalk/kernels/gpu.h"
#include "ropewalk/kernels/scatter.h"
#include "ropewalk/moments/joint_moments.h"

namespace ropewalk {

std::map<int64_t, LayerStreams> layer_streams(const std::vector<QueryHead>& heads, int64_t group) {
  std::map<int64_t, std::set<int64_t>> q_heads;
  std::map<int64_t, std::set<int64_t>> kv_heads;
  for (const QueryHead& head : heads) {
    q_heads[head.layer].insert(head.q_head);
    kv_heads[head.layer].insert(head.q_head / group);
  }
  std::map<int64_t, LayerStreams> streams;
  for (const auto& [layer, q] : q_heads) {
    const auto& kv = kv_heads[layer];
    streams[layer] = {{q.begin(), q.end()}, {kv.begin(), kv.end()}};
  }
  return streams;
}

namespace {

int64_t numbers_per_stream(int64_t blocks, int64_t d) { return blocks * (2 * d + d * (d + 1) / 2); }

int64_t layer_bytes(const LayerStreams& streams, int64_t blocks, int64_t d) {
  const auto count = static_cast<int64_t>(streams.q_heads.size() + streams.kv_heads.size());
  return count * numbers_per_stream(blocks, d) * static_cast<int64_t>(sizeof(double));
}

// A layer's flat numbers as its streams: queries first.
std::pair<StreamMoments, StreamMoments> split_numbers(const at::Tensor& numbers,
                                                      const LayerStreams& streams, int64_t blocks,
                                                      int64_t d) {
  int64_t place = 0;
  const auto take = [&](size_t count, int64_t width) {
    const auto size = static_cast<int64_t>(count);
    const at::Tensor taken = numbers.narrow(0, place, size * blocks * width);
    place += taken.numel();
    return taken.view({size, blocks, width});
  };
  const auto take_streams = [&](size_t count) {
    StreamMoments moments;
    moments.mean = take(count, d);
    moments.position = take(count, d);
    moments.products = take(count, d * (d + 1) / 2);
    return moments;
  };
  StreamMoments queries = take_streams(streams.q_heads.size());
  StreamMoments keys = take_streams(streams.kv_heads.size());
  return {std::move(queries), std::move(keys)};
}

constexpr int64_t kNoDocument = std::numeric_limits<int64_t>::max();

int64_t query_group(const ModelConfig& config) { return config.n_q_heads / config.n_kv_heads; }

}  // namespace

MomentsBytes moments_bytes(const ModelConfig& config, const std::vector<QueryHead>& heads,
                           int64_t blocks) {
  MomentsBytes bytes;
  for (const auto& [layer, streams] : layer_streams(heads, query_group(config))) {
    const int64_t one = layer_bytes(streams, blocks, config.d_head);
    bytes.all += one;
    bytes.layer = std::max(bytes.layer, one);
  }
  return bytes;
}

MomentsCollector::MomentsCollector(const ModelConfig& config, const std::vector<QueryHead>& heads,
                                   int64_t blocks,
                                   const std::optional<std::filesystem::path>& scratch)
    : blocks_(blocks),
      streams_(layer_streams(heads, query_group(config))),
      scratch_(moments_bytes(config, heads, blocks).all, scratch),
      spooled_(scratch.has_value()) {
  int64_t offset = 0;
  for (const auto& [number, streams] : streams_) {
    Layer& layer = layers_[number];
    layer.counts = BlockCounts(blocks);
    layer.offset = offset;
    layer.bytes = layer_bytes(streams, blocks, config.d_head);
    std::tie(layer.queries, layer.keys) =
        split_numbers(numbers(layer), streams, blocks, config.d_head);
    offset += layer.bytes;
  }
}

MomentsCollector::~MomentsCollector() { finish_latest(); }

at::Tensor MomentsCollector::numbers(const Layer& layer) const {
  return at::from_blob(scratch_.data() + layer.offset,
                       {layer.bytes / static_cast<int64_t>(sizeof(double))}, at::kDouble);
}

void MomentsCollector::collect(const QueryKey& taken) {
  const LayerStreams& streams = streams_.at(taken.layer);
  Layer& layer = layers_.at(taken.layer);
  if (spooled_ && latest_ >= 0 && latest_ != taken.layer) {
    settle();
    gpu_.clear();
    release(layers_.at(latest_));
  }
  latest_ = taken.layer;
  if (taken.q.is_cuda()) {
    collect_on_gpu(taken, layer.counts);
  } else {
    add(taken.q, streams.q_heads, taken, "queries", layer.counts, layer.queries);
    add(taken.k, streams.kv_heads, taken, "keys", layer.counts, layer.keys);
  }
  layer.counts.add_document(taken.document->block(blocks_), taken.q.size(1));
}

MomentsCollector::GpuLayer MomentsCollector::move_to_gpu(int64_t number,
                                                         const at::Device& device) const {
  const Layer& layer = layers_.at(number);
  const LayerStreams& streams = streams_.at(number);
  const auto on_gpu = [&](const std::vector<int64_t>& heads) {
    return at::tensor(heads, at::kLong).to(at::kInt).to(device);
  };
  GpuLayer gpu;
  const at::Tensor stored = numbers(layer);
  gpu.numbers = layer.counts.total_documents() > 0
                    ? stored.to(device)
                    : at::zeros(stored.sizes(), stored.options().device(device));
  std::tie(gpu.queries, gpu.keys) = split_numbers(gpu.numbers, streams, blocks_, layer.queries.d());
  gpu.q_heads = on_gpu(streams.q_heads);
  gpu.kv_heads = on_gpu(streams.kv_heads);
  gpu.bad = at::full({gpu.q_heads.size(0) + gpu.kv_heads.size(0)}, kNoDocument,
                     at::TensorOptions().dtype(at::kLong).device(device));
  return gpu;
}

void MomentsCollector::collect_on_gpu(const QueryKey& taken, const BlockCounts& counts) {
  auto place = gpu_.find(taken.layer);
  if (place == gpu_.end()) {
    place = gpu_.emplace(taken.layer, move_to_gpu(taken.layer, taken.q.device())).first;
  }
  const GpuLayer& gpu = place->second;
  const int64_t block = taken.document->block(blocks_);
  const auto streams_of = [&](const StreamMoments& moments, const at::Tensor& heads) {
    const MomentsView view = block_view(moments, block);
    return GpuStreams{heads, view.mean, view.position, view.products};
  };
  const auto b = static_cast<size_t>(block);
  finish_latest();
  if (!side_) side_ = std::make_unique<c10::Stream>(new_stream(taken.q.device()));
  mark(torch_stream(taken.q.device()))->block(*side_);
  {
    const c10::StreamGuard guard(*side_);
    join_on_gpu(
        taken.q, streams_of(gpu.queries, gpu.q_heads), taken.k, streams_of(gpu.keys, gpu.kv_heads),
        {taken.document->index, static_cast<double>(counts.tokens[b]), counts.position_mean[b]},
        gpu.bad);
  }
  running_ = Running{taken.q, taken.k, mark(*side_)};
  if (taken.changing) finish_latest();
}

void MomentsCollector::finish_latest() {
  if (!running_) return;
  running_->done->block(torch_stream(running_->q.device()));
  running_.reset();
}

void MomentsCollector::settle() {
  finish_latest();
  for (const auto& [number, gpu] : gpu_) settle(number, gpu);
}

void MomentsCollector::settle(int64_t number, const GpuLayer& gpu) {
  const at::Tensor bad = gpu.bad.to(at::kCPU);
  const LayerStreams& streams = streams_.at(number);
  const auto queries = static_cast<int64_t>(streams.q_heads.size());
  for (int64_t stream = 0; stream < bad.size(0); ++stream) {
    const auto document = bad[stream].item<int64_t>();
    if (document == kNoDocument) continue;
    const bool query = stream < queries;
    const auto place = static_cast<size_t>(query ? stream : stream - queries);
    throw InputError(
        "{} in layer {}, head {}, document {} are not all finite, or their squares overflow "
        "float32: the checkpoint is damaged or overflows this dtype",
        query ? "queries" : "keys", number, (query ? streams.q_heads : streams.kv_heads)[place],
        document);
  }
  numbers(layers_.at(number)).copy_(gpu.numbers);
}

MomentsCollector::Layer MomentsCollector::joint_layer(int64_t number,
                                                      const BlockCounts& all) const {
  const Layer& mine = layers_.at(number);
  if (processes::count() == 1) return mine;
  Layer joint;
  std::tie(joint.queries, joint.keys) =
      split_numbers(numbers(mine).clone(), streams_.at(number), blocks_, mine.queries.d());
  release(mine);
  ropewalk::join_in_first(joint.queries, mine.counts, all);
  ropewalk::join_in_first(joint.keys, mine.counts, all);
  joint.counts = all;
  return joint;
}

void MomentsCollector::join_in_first() {
  if (processes::count() == 1) return;
  const BlockCounts all = joint_counts(layers_.begin()->second.counts);
  for (auto& [number, mine] : layers_) {
    const Layer joint = joint_layer(number, all);
    if (!processes::first()) continue;
    const auto copy = [](const StreamMoments& to, const StreamMoments& from) {
      to.mean.copy_(from.mean);
      to.position.copy_(from.position);
      to.products.copy_(from.products);
    };
    copy(mine.queries, joint.queries);
    copy(mine.keys, joint.keys);
    mine.counts = all;
    release(mine);
  }
}

std::string_view MomentsCollector::bytes(const Layer& layer) const {
  return {reinterpret_cast<const char*>(scratch_.data() + layer.offset),
          static_cast<size_t>(layer.bytes)};
}

void MomentsCollector::restore(int64_t number, std::string_view bytes, const BlockCounts& counts) {
  Layer& layer = layers_.at(number);
  std::memcpy(scratch_.data() + layer.offset, bytes.data(), bytes.size());
  layer.counts = counts;
  gpu_.erase(number);
  release(layer);
}

void MomentsCollector::add(const at::Tensor& vectors, const std::vector<int64_t>& heads,
                           const QueryKey& taken, const char* what, const BlockCounts& counts,
                           StreamMoments& moments) {
  at::Tensor chosen = vectors;
  if (static_cast<int64_t>(heads.size()) < vectors.size(0)) {
    chosen = vectors.index_select(0, at::tensor(heads, at::kLong).to(vectors.device()));
  }
  const Scatter scatter = document_scatter(chosen);
  const MomentsView document{scatter.mean, scatter.position, pack_triangle(scatter.products)};
  const at::Tensor finite = document.products.isfinite().all(-1).logical_and(
      document.position.isfinite().all(-1));  // [streams]
  if (!finite.all().item<bool>()) {
    const int64_t bad = finite.logical_not().nonzero()[0].item<int64_t>();
    const at::Tensor values = chosen.select(0, bad).to(at::kFloat);
    const bool overflow = values.isfinite().all().item<bool>();
    throw InputError(
        "{} in layer {}, head {}, document {} {}", what, taken.layer,
        heads[static_cast<size_t>(bad)], taken.document->index,
        overflow
            ? fmt::format("reach {:.3g}, whose squares overflow float32",
                          values.abs().max().item<float>())
            : std::string("are not all finite: the checkpoint is damaged or overflows this dtype"));
  }
  const int64_t block = taken.document->block(blocks_);
  const auto b = static_cast<size_t>(block);
  const auto tokens = static_cast<double>(vectors.size(1));
  join_moments(block_view(moments, block),
               {static_cast<double>(counts.tokens[b]), counts.position_mean[b]}, document,
               {tokens, (tokens - 1) / 2});
}

}  // namespace ropewalk
