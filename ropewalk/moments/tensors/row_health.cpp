#include "ropewalk/moments/tensors/row_health.h"

#include <c10/core/GradMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <map>

#include "ropewalk/base/error.h"
#include "ropewalk/base/split_mix.h"
#include "ropewalk/kernels/gpu/host_numbers.h"
#include "ropewalk/kernels/products/exact_float32.h"
#include "ropewalk/kernels/rows/row_numbers.h"
#include "ropewalk/kernels/rows/row_sums.h"
#include "ropewalk/moments/accumulators/rows.h"

namespace ropewalk {
namespace {

using Column = RowHealth::Column;

// Rows of each document take a while to be started on a GPU.
constexpr int64_t kMostTexts = 4;

// The chosen rows of one document in memory, by where the text begins to which they belong.
std::map<int64_t, std::vector<int64_t>> chosen_rows(const at::Tensor& positions, int64_t document,
                                                    int64_t wanted) {
  const auto t_of = positions.accessor<int64_t, 1>();
  std::map<int64_t, std::vector<int64_t>> rows;
  for (const int64_t t : draw_rows(static_cast<uint64_t>(document), positions.size(0), {wanted})) {
    const int64_t begin = std::max<int64_t>(0, t - t_of[t]);
    if (t - begin >= QueryRows::kFirstKey) rows[begin].push_back(t);
  }
  return rows;
}

// The sums of one text's rows, all in one octave.
struct TextSums {
  TextSums(int64_t heads, int64_t tokens, const at::Device& device) {
    const auto numbers = at::device(device).dtype(at::kDouble);
    sums.sums = at::zeros({heads, 1, RowNumber::count}, numbers);
    sums.attended = at::zeros({heads, 1, distance_parts(tokens)}, numbers);
    sums.largest = at::zeros({heads, 1}, numbers);
    sums.edges = at::zeros({heads, kEdges, EdgeNumber::count}, numbers);
    sums.edge_tokens = at::zeros({heads, kEdges, 2, kEdgeTokens}, numbers);
  }
  at::Tensor of(int64_t column) const { return sums.sums.select(2, column).select(1, 0); }

  RowSums sums;
};

// Adds the rows of a text, of which the vectors are q [q_heads, T, d_head] and k.
void add_rows(const at::Tensor& to, const at::Tensor& q, const at::Tensor& k, int64_t begin,
              const std::vector<int64_t>& chosen, const ScoreOptions& scores) {
  QueryRows rows;
  const at::Device device = q.device();
  const int64_t tokens = chosen.back() + 1 - begin;
  rows.q = q.index_select(1, on_device(chosen, device)).to(at::kFloat);
  rows.k = k.slice(1, begin, begin + tokens).to(at::kFloat).contiguous();
  for (const int64_t t : chosen) rows.t.push_back(t - begin);
  const int64_t group = q.size(0) / k.size(0);
  for (int64_t head = 0; head < q.size(0); ++head) rows.kv.push_back(head / group);
  rows.tokens = at::arange(tokens, at::kInt);  // none repeats
  rows.scores = scores;
  const TextSums found(q.size(0), tokens, device);
  add_row_sums(rows, /*document=*/0, found.sums);
  const auto add = [&](int64_t column, const at::Tensor& sum) { to.select(1, column).add_(sum); };
  const at::Tensor peak = to.select(1, Column::peak), mine = found.sums.largest.select(1, 0);
  peak.copy_(at::where(to.select(1, Column::rows) > 0, at::maximum(peak, mine), mine));
  add(Column::rows, found.of(RowNumber::rows));
  add(Column::largest, found.of(RowNumber::largest));
  add(Column::entropy, found.of(RowNumber::entropy));
  add(Column::sink, found.of(RowNumber::sink));
}

// The longest vector of each head, [heads] float64.
at::Tensor longest(const at::Tensor& vectors) {
  return at::linalg_vector_norm(vectors, 2, at::IntArrayRef{3}, false, at::kFloat)
      .amax({0, 2})
      .to(at::kDouble);
}

}  // namespace

RowHealth::RowHealth(int64_t layers, int64_t q_heads)
    : q_heads_(q_heads), layers_(static_cast<size_t>(layers)) {}

void RowHealth::add(int64_t layer, int64_t wanted, const at::Tensor& q, const at::Tensor& k,
                    const at::Tensor& positions, const ScoreOptions& scores) {
  if (layer < 0 || layer >= static_cast<int64_t>(layers_.size()) || q.size(1) != q_heads_) {
    throw UsageError("layer {} with {} query heads: expected a layer below {}, with {}", layer,
                     q.size(1), layers_.size(), q_heads_);
  }
  if (q.numel() == 0 || k.numel() == 0) return;
  const c10::NoGradGuard no_autograd;
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  const ExactFloat32 exact;
  const std::lock_guard lock(mutex_);
  at::Tensor& to = layers_[static_cast<size_t>(layer)];
  if (!to.defined()) to = at::zeros({q_heads_, Column::count}, q.options().dtype(at::kDouble));
  const int64_t documents = std::min({q.size(0), wanted, kMostTexts});
  for (int64_t i = 0; i < documents; ++i) {
    const int64_t count = wanted / documents + (i < wanted % documents ? 1 : 0);
    for (const auto& [begin, chosen] : chosen_rows(positions[i], i, count)) {
      add_rows(to, q[i].detach(), k[i].detach(), begin, chosen, scores);
    }
  }
  const auto keep_largest = [&](int64_t column, const at::Tensor& lengths) {
    const at::Tensor mine = to.select(1, column);
    mine.copy_(at::maximum(mine, lengths));
  };
  keep_largest(Column::longest_q, longest(q.detach()));
  keep_largest(Column::longest_k, longest(k.detach()).repeat_interleave(q.size(1) / k.size(1)));
  to.select(1, Column::scale).fill_(scores.scale);
}

at::Tensor RowHealth::numbers() const {
  const std::lock_guard lock(mutex_);
  const at::Tensor all =
      at::zeros({static_cast<int64_t>(layers_.size()), q_heads_, Column::count}, at::kDouble);
  for (size_t layer = 0; layer < layers_.size(); ++layer) {
    if (layers_[layer].defined()) all[static_cast<int64_t>(layer)].copy_(layers_[layer]);
  }
  return all;
}

}  // namespace ropewalk
