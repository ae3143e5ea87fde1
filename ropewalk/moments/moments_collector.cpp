#include "ropewalk/moments/moments_collector.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "ropewalk/base/error.h"
#include "ropewalk/kernels/scatter.h"

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

// Cuts streams off the front of `place`.
StreamMoments take_streams(double*& place, size_t count, int64_t blocks, int64_t d) {
  const auto streams = static_cast<int64_t>(count);
  const auto take = [&](int64_t width) {
    at::Tensor taken = at::from_blob(place, {streams, blocks, width}, at::kDouble);
    place += taken.numel();
    return taken;
  };
  StreamMoments moments;
  moments.mean = take(d);
  moments.position = take(d);
  moments.products = take(d * (d + 1) / 2);
  return moments;
}

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
      scratch_(moments_bytes(config, heads, blocks).all, scratch) {
  int64_t offset = 0;
  for (const auto& [number, streams] : streams_) {
    auto* place = reinterpret_cast<double*>(scratch_.data() + offset);
    Layer& layer = layers_[number];
    layer.queries = take_streams(place, streams.q_heads.size(), blocks, config.d_head);
    layer.keys = take_streams(place, streams.kv_heads.size(), blocks, config.d_head);
    layer.counts = BlockCounts(blocks);
    layer.offset = offset;
    layer.bytes = layer_bytes(streams, blocks, config.d_head);
    offset += layer.bytes;
  }
}

void MomentsCollector::collect(const QueryKey& taken) {
  const LayerStreams& streams = streams_.at(taken.layer);
  Layer& layer = layers_.at(taken.layer);
  if (latest_ != nullptr && latest_ != &layer) release(*latest_);
  latest_ = &layer;
  add(taken.q, streams.q_heads, taken, "queries", layer.counts, layer.queries);
  add(taken.k, streams.kv_heads, taken, "keys", layer.counts, layer.keys);
  layer.counts.add_document(taken.document->index % blocks_, taken.q.size(1));
}

std::string_view MomentsCollector::bytes(const Layer& layer) const {
  return {reinterpret_cast<const char*>(scratch_.data() + layer.offset),
          static_cast<size_t>(layer.bytes)};
}

void MomentsCollector::restore(int64_t number, std::string_view bytes, const BlockCounts& counts) {
  Layer& layer = layers_.at(number);
  std::memcpy(scratch_.data() + layer.offset, bytes.data(), bytes.size());
  layer.counts = counts;
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
  const MomentsView document{scatter.mean.to(at::kCPU), scatter.position.to(at::kCPU),
                             pack_triangle(scatter.products).to(at::kCPU)};
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
  const int64_t block = taken.document->index % blocks_;
  const auto b = static_cast<size_t>(block);
  const auto tokens = static_cast<double>(vectors.size(1));
  join_moments(block_view(moments, block),
               {static_cast<double>(counts.tokens[b]), counts.position_mean[b]}, document,
               {tokens, (tokens - 1) / 2});
}

}  // namespace ropewalk
