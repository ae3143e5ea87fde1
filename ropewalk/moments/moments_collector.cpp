#include "ropewalk/moments/moments_collector.h"

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

MomentsCollector::MomentsCollector(const ModelConfig& config, const std::vector<QueryHead>& heads,
                                   int64_t blocks)
    : blocks_(blocks), streams_(layer_streams(heads, config.n_q_heads / config.n_kv_heads)) {
  for (const auto& [layer, streams] : streams_) {
    layers_[layer] = {
        StreamMoments(static_cast<int64_t>(streams.q_heads.size()), blocks, config.d_head),
        StreamMoments(static_cast<int64_t>(streams.kv_heads.size()), blocks, config.d_head),
        BlockCounts(blocks)};
  }
}

void MomentsCollector::collect(const QueryKey& taken) {
  const LayerStreams& streams = streams_.at(taken.layer);
  Layer& layer = layers_.at(taken.layer);
  add(taken.q, streams.q_heads, taken, "queries", layer.counts, layer.queries);
  add(taken.k, streams.kv_heads, taken, "keys", layer.counts, layer.keys);
  layer.counts.add_document(taken.document->index % blocks_, taken.q.size(1));
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
