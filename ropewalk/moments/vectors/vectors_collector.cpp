#include "ropewalk/moments/vectors/vectors_collector.h"

#include <algorithm>

#include "ropewalk/base/error.h"
#include "ropewalk/text/documents.h"

namespace ropewalk {

VectorsCollector::VectorsCollector(const ModelConfig& config, const std::vector<QueryHead>& heads,
                                   int64_t context, const TokenSampler& sampler,
                                   VectorsWriter& writer)
    : sampler_(sampler), writer_(writer) {
  const auto group = static_cast<int32_t>(config.n_q_heads / config.n_kv_heads);
  for (const QueryHead& head : heads) {
    LayerHeads& layer = layers_[head.layer];
    layer.q_heads.push_back(head.q_head);
    const int32_t kv_head = head.q_head / group;
    if (std::find(layer.kv_heads.begin(), layer.kv_heads.end(), kv_head) == layer.kv_heads.end()) {
      layer.kv_heads.push_back(kv_head);
    }
    const auto window = config.layers[static_cast<size_t>(head.layer)].window;
    if (window && *window < context) layer.window = static_cast<int32_t>(*window);
  }
}

std::vector<Tap> VectorsCollector::taps(int64_t layer) const {
  if (!layers_.contains(layer)) return {};
  return {{kPostRope, "q"}, {kPostRope, "k"}};
}

void VectorsCollector::on_vectors(const TappedVectors& taken) {
  const LayerHeads& heads = layers_.at(taken.layer);
  collect_kind(taken, StreamKind::query, heads);
  collect_kind(taken, StreamKind::key, heads);
}

void VectorsCollector::collect_kind(const TappedVectors& taken, StreamKind kind,
                                    const LayerHeads& heads) {
  const bool queries = kind == StreamKind::query;
  const at::Tensor& vectors = taken[queries ? "q" : "k"];  // [heads, T, d_head]
  const auto layer = static_cast<int32_t>(taken.layer);
  const Document& document = *taken.document;
  SampledTokens tokens = sampler_.sample(document.example_id, layer, kind, vectors.size(1));
  if (tokens.positions.empty()) return;
  const bool every = static_cast<int64_t>(tokens.positions.size()) == vectors.size(1);
  const at::Tensor indexes =
      at::from_blob(tokens.positions.data(), {static_cast<int64_t>(tokens.positions.size())},
                    at::TensorOptions().dtype(at::kInt))
          .to(vectors.device(), at::kInt, /*non_blocking=*/false, /*copy=*/true);
  const int64_t* positions = taken.positions->tensor().const_data_ptr<int64_t>();
  for (int32_t& token : tokens.positions) token = static_cast<int32_t>(positions[token]);
  for (const int32_t head : queries ? heads.q_heads : heads.kv_heads) {
    at::Tensor rows = vectors.select(0, head);
    if (!every) rows = rows.index_select(0, indexes);
    rows = rows.to(at::kCPU, at::kFloat).contiguous();
    if (!rows.isfinite().all().item<bool>()) {
      throw InputError(
          "{} in layer {}, head {}, document {} are not all finite: the checkpoint is damaged "
          "or overflows this dtype",
          queries ? "queries" : "keys", layer, head, document.index);
    }
    writer_.append({layer, head, kind},
                   {.example_id = document.example_id,
                    .positions = tokens.positions,
                    .buckets = tokens.buckets,
                    .vectors = {rows.const_data_ptr<float>(), static_cast<size_t>(rows.numel())},
                    .sliding_window = heads.window});
  }
}

}  // namespace ropewalk
