#include "ropewalk/moments/collectors/moments_collector.h"

#include <algorithm>
#include <cstring>

#include "ropewalk/base/error.h"
#include "ropewalk/base/processes/communicator.h"
#include "ropewalk/base/processes/interrupt.h"
#include "ropewalk/kernels/attention/biased_attention.h"
#include "ropewalk/model/config/rope.h"
#include "ropewalk/moments/accumulators/joint_fields.h"
#include "ropewalk/text/documents.h"

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

int64_t layer_bytes(const LayerStreams& streams, int64_t blocks, const CaptureShape& shape) {
  int64_t numbers = 0;
  for (const Accumulator* accumulator : accumulators()) {
    for (const KeptField& field : accumulator->fields(shape)) {
      numbers += static_cast<int64_t>(streams.heads(field.kind).size()) * field_size(field, blocks);
    }
  }
  return numbers * static_cast<int64_t>(sizeof(double));
}

int64_t query_group(const ModelConfig& config) { return config.n_q_heads / config.n_kv_heads; }

}  // namespace

MomentsBytes moments_bytes(const ModelConfig& config, const std::vector<QueryHead>& heads,
                           const CollectorOptions& options) {
  MomentsBytes bytes;
  const CaptureShape shape = options.shape(config.d_head);
  for (const auto& [layer, streams] : layer_streams(heads, query_group(config))) {
    const int64_t one = layer_bytes(streams, options.blocks, shape);
    bytes.all += one;
    bytes.layer = std::max(bytes.layer, one);
  }
  return bytes;
}

int64_t moments_workspace(const ModelConfig& config, const CaptureShape& shape, int64_t tokens,
                          at::ScalarType dtype, const at::Device& device) {
  int64_t bytes = 0;
  for (const Accumulator* accumulator : accumulators()) {
    if (accumulator->fields(shape).empty()) continue;
    bytes += accumulator->workspace(config, tokens, dtype, device);
  }
  return bytes;
}

MomentsCollector::MomentsCollector(const ModelConfig& config, const std::vector<QueryHead>& heads,
                                   const CollectorOptions& options)
    : config_(config),
      shape_(options.shape(config.d_head)),
      blocks_(options.blocks),
      streams_(layer_streams(heads, query_group(config))),
      scratch_(moments_bytes(config, heads, options).all, options.scratch),
      spooled_(options.scratch.has_value()) {
  int64_t offset = 0;
  for (const auto& [number, streams] : streams_) {
    Layer& layer = layers_[number];
    layer.counts = BlockCounts(blocks_);
    layer.offset = offset;
    layer.bytes = layer_bytes(streams, blocks_, shape_);
    layer.fields = split(numbers(layer), streams);
    offset += layer.bytes;
  }
  for (size_t i = 0; i < accumulators().size(); ++i) {
    for (const Tap& tap : accumulators()[i]->taps(shape_)) {
      std::vector<size_t>& at_point = wanting_[tap.point];
      if (at_point.empty() || at_point.back() != i) at_point.push_back(i);
    }
  }
}

std::vector<Tap> MomentsCollector::taps(int64_t layer) const {
  std::vector<Tap> taps;
  if (!streams_.contains(layer)) return taps;
  for (const Accumulator* accumulator : accumulators()) {
    const std::vector<Tap> some = accumulator->taps(shape_);
    taps.insert(taps.end(), some.begin(), some.end());
  }
  return taps;
}

int64_t MomentsCollector::workspace(int64_t tokens, at::ScalarType dtype,
                                    const at::Device& device) const {
  return moments_workspace(config_, shape_, tokens, dtype, device);
}

at::Tensor MomentsCollector::numbers(const Layer& layer) const {
  return at::from_blob(scratch_.data() + layer.offset,
                       {layer.bytes / static_cast<int64_t>(sizeof(double))}, at::kDouble);
}

// Splits a layer's flat numbers into its fields, one after the other.
std::vector<MomentsCollector::Fields> MomentsCollector::split(const at::Tensor& numbers,
                                                              const LayerStreams& streams) const {
  std::vector<Fields> all;
  int64_t offset = 0;
  for (const Accumulator* accumulator : accumulators()) {
    Fields& fields = all.emplace_back();
    for (const KeptField& field : accumulator->fields(shape_)) {
      const auto count = static_cast<int64_t>(streams.heads(field.kind).size());
      const at::Tensor taken = numbers.narrow(0, offset, count * field_size(field, blocks_));
      offset += taken.numel();
      fields.push_back(taken.view({count, field.blocks ? blocks_ : 1, field.width}));
    }
  }
  return all;
}

void MomentsCollector::on_vectors(const TappedVectors& taken) {
  Layer& layer = layers_.at(taken.layer);
  if (spooled_ && latest_ >= 0 && latest_ != taken.layer) {
    fetch();
    gpu_.clear();
    release(layers_.at(latest_));
  }
  latest_ = taken.layer;
  const int64_t block = taken.document->block(blocks_);
  const TokenSet held = layer.counts.set(block);
  const at::Tensor& some = taken.vectors.begin()->second;
  if (!some.is_cuda()) {
    add(taken, layer.fields, block, held, nullptr);
  } else {
    GpuLayer& gpu = gpu_layer(taken.layer, some.device());
    gpu.fetched = false;
    if (taken.changing) {
      side_.finish();
      add(taken, gpu.fields, block, held, &gpu);
    } else {
      std::vector<at::Tensor> reads;
      for (const auto& [name, vectors] : taken.vectors) reads.push_back(vectors);
      if (taken.scores != nullptr) {
        reads.insert(reads.end(), {taken.scores->slopes, taken.scores->sinks});
      }
      if (taken.rope != nullptr) reads.insert(reads.end(), {taken.rope->cos, taken.rope->sin});
      const auto launch = [&] { add(taken, gpu.fields, block, held, &gpu); };
      side_.run(std::move(reads), launch, wanting_.size());
    }
  }
  // A document counts once it was seen at all points.
  seen_.emplace(taken.point);
  if (seen_.size() < wanting_.size()) return;
  seen_.clear();
  const Positions& positions = *taken.positions;
  layer.counts.add_document(block, positions.tokens(), positions.mean(), positions.scatter(),
                            taken.documents);
}

void MomentsCollector::add(const TappedVectors& taken, const std::vector<Fields>& fields,
                           int64_t block, const TokenSet& held, const GpuLayer* gpu) const {
  for (const size_t i : wanting_.find(taken.point)->second) {
    BlockTarget to{block_of(fields[i], block, held),
                   streams_.at(taken.layer),
                   rotary_pairs(config_, taken.layer),
                   shape_.context,
                   block,
                   config_.layers.at(static_cast<size_t>(taken.layer)).window,
                   shape_.keep};
    if (gpu != nullptr) {
      to.q_heads = gpu->q_heads;
      to.kv_heads = gpu->kv_heads;
      to.bad = gpu->bad;
    }
    accumulators()[i]->add(taken, to);
  }
}

MomentsCollector::GpuLayer& MomentsCollector::gpu_layer(int64_t number, const at::Device& device) {
  const auto found = gpu_.find(number);
  if (found != gpu_.end()) return found->second;
  const Layer& layer = layers_.at(number);
  const LayerStreams& streams = streams_.at(number);
  const auto on_gpu = [&](const std::vector<int64_t>& heads) {
    at::Tensor& there = gpu_heads_[heads];
    if (!there.defined()) {
      there = at::tensor(heads, at::kLong).to(at::kInt).to(device, /*non_blocking=*/true);
    }
    return there;
  };
  GpuLayer gpu;
  const at::Tensor stored = numbers(layer);
  gpu.numbers = layer.counts.total_documents() > 0
                    ? stored.to(device)
                    : at::zeros(stored.sizes(), stored.options().device(device));
  gpu.fields = split(gpu.numbers, streams);
  gpu.q_heads = on_gpu(streams.q_heads);
  gpu.kv_heads = on_gpu(streams.kv_heads);
  gpu.bad = at::full({gpu.q_heads.size(0) + gpu.kv_heads.size(0)}, kNoDocument,
                     at::TensorOptions().dtype(at::kLong).device(device));
  return gpu_.emplace(number, std::move(gpu)).first->second;
}

void MomentsCollector::prefault_memory() const {
  for (const auto& [number, layer] : layers_) {
    if (interrupted()) return;
    scratch_.take(layer.offset, layer.bytes);
  }
}

void MomentsCollector::fetch() {
  side_.finish();
  for (auto& [number, gpu] : gpu_) fetch(number, gpu);
}

void MomentsCollector::fetch_all() {
  fetch();
  gpu_.clear();
  gpu_heads_.clear();
}

void MomentsCollector::fetch(int64_t number, GpuLayer& gpu) {
  if (gpu.fetched) return;
  const at::Tensor bad = gpu.bad.to(at::kCPU);
  const LayerStreams& streams = streams_.at(number);
  const auto queries = static_cast<int64_t>(streams.q_heads.size());
  for (int64_t stream = 0; stream < bad.size(0); ++stream) {
    const auto document = bad[stream].item<int64_t>();
    if (document == kNoDocument) continue;
    const bool query = stream < queries;
    const auto index = static_cast<size_t>(query ? stream : stream - queries);
    throw InputError(
        "{} in layer {}, head {}, document {} are not all finite, or their squares overflow "
        "float32: the checkpoint is damaged or overflows this dtype",
        query ? "queries" : "keys", number, (query ? streams.q_heads : streams.kv_heads)[index],
        document);
  }
  copy_to_host(gpu.numbers, numbers(layers_.at(number)));
  gpu.fetched = true;
}

MomentsCollector::Layer MomentsCollector::joint_layer(int64_t number,
                                                      const Communicator& processes) const {
  const Layer& mine = layers_.at(number);
  if (processes.alone()) return mine;
  Layer joint;
  const at::Tensor all = numbers(mine).clone();
  release(mine);
  joint.fields = split(all, streams_.at(number));
  joint.counts = mine.counts;
  const at::Tensor room = at::empty_like(all);
  join_processes(processes, {all, joint.fields}, joint.counts,
                 {room, split(room, streams_.at(number))});
  return joint;
}

void MomentsCollector::join_in_first(const Communicator& processes) {
  for (const auto& [number, mine] : layers_) join_in_first(number, processes);
}

void MomentsCollector::join_in_first(int64_t number, const Communicator& processes) {
  if (processes.alone()) return;
  Layer& mine = layers_.at(number);
  const Layer joint = joint_layer(number, processes);
  gpu_.erase(number);  // was fetched
  if (!processes.first()) return;
  for (size_t a = 0; a < mine.fields.size(); ++a) {
    for (size_t f = 0; f < mine.fields[a].size(); ++f) {
      mine.fields[a][f].copy_(joint.fields[a][f]);
    }
  }
  mine.counts = joint.counts;
  release(mine);
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

}  // namespace ropewalk
