#include "ropewalk/moments/collectors/probe_collector.h"

#include <cmath>
#include <limits>

#include "ropewalk/base/error.h"
#include "ropewalk/kernels/gpu/host_numbers.h"
#include "ropewalk/kernels/rows/attention_at.h"
#include "ropewalk/text/documents.h"

namespace ropewalk {
namespace {

enum Target : int64_t { behind, before, count };

// The queries of copied tokens, and what decides their attention.
QueryRows copied_rows(const TappedVectors& taken, const CopiedPiece& piece) {
  QueryRows rows;
  rows.t = piece.copied();
  const at::Tensor &q = taken["q"], &k = taken["k"];
  rows.q = q.index_select(1, on_device(rows.t, q.device())).to(at::kFloat);
  rows.k = k.to(at::kFloat);
  const int64_t group = q.size(0) / k.size(0);
  for (int64_t head = 0; head < q.size(0); ++head) rows.kv.push_back(head / group);
  rows.scores = *taken.scores;
  return rows;
}

}  // namespace

ProbeCollector::ProbeCollector(const ModelConfig& config, std::map<int64_t, CopiedPiece> pieces)
    : config_(config), pieces_(std::move(pieces)) {}

std::vector<Tap> ProbeCollector::taps(int64_t layer) const {
  if (!config_.layers[static_cast<size_t>(layer)].self_attention) return {};
  return {{kPostRope, "q"}, {kPostRope, "k"}};
}

void ProbeCollector::on_vectors(const TappedVectors& taken) {
  const CopiedPiece& piece = pieces_.at(taken.document->index);
  const QueryRows rows = copied_rows(taken, piece);
  std::vector<KeysOfRows> lists(Target::count);
  for (const int64_t t : rows.t) {
    lists[Target::behind].push_back(piece.behind_earlier(t));
    lists[Target::before].push_back({t - 1});
  }
  std::vector<at::Tensor>& layers = found_[taken.document->index];
  layers.resize(static_cast<size_t>(config_.n_layers));
  layers[static_cast<size_t>(taken.layer)] = attention_at(rows, lists).mean(1);
}

int64_t ProbeCollector::workspace(int64_t tokens, at::ScalarType, const at::Device&) const {
  return attention_at_workspace(config_.n_q_heads, config_.n_kv_heads, tokens, config_.d_head);
}

std::vector<DocumentValues> ProbeCollector::values(std::span<const Document> documents) const {
  const auto n = static_cast<int64_t>(documents.size());
  const at::Tensor pieces = at::zeros({n, 4}, at::kDouble);
  const at::Tensor all = at::full({Target::count, n, config_.n_layers, config_.n_q_heads},
                                  std::numeric_limits<double>::quiet_NaN(), at::kDouble);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t index = documents[static_cast<size_t>(i)].index;
    const CopiedPiece& piece = pieces_.at(index);
    pieces[i].copy_(at::tensor({piece.begin, piece.length, piece.period, piece.copies}, at::kLong));
    const std::vector<at::Tensor>& layers = found_.at(index);
    for (size_t layer = 0; layer < layers.size(); ++layer) {
      if (!layers[layer].defined()) continue;
      const at::Tensor found = layers[layer].cpu();
      if (!found.isfinite().all().item<bool>()) {
        throw InputError(
            "the attention of probe {} is not finite in layer {}: the checkpoint is damaged or "
            "overflows this dtype",
            index, layer);
      }
      all.select(1, i).select(1, static_cast<int64_t>(layer)).copy_(found.t());
    }
  }
  return {
      {kPieceName, pieces}, {kBehindName, all[Target::behind]}, {kBeforeName, all[Target::before]}};
}

}  // namespace ropewalk
