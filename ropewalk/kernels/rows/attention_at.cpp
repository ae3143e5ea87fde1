#include "ropewalk/kernels/rows/attention_at.h"

#include <algorithm>
#include <array>
#include <limits>

#include "ropewalk/kernels/gpu/host_numbers.h"

namespace ropewalk {
namespace {

// Rows that are computed together: so few that their scores take little memory.
constexpr int64_t kMostScores = int64_t{1} << 24;

int64_t rows_at_once(int64_t heads, int64_t tokens) {
  return std::max<int64_t>(1, kMostScores / std::max<int64_t>(1, heads * tokens));
}

// The softmax of rows begin … end - 1 over all keys up to the last one's, [heads, rows, keys].
at::Tensor weights_of(const QueryRows& rows, int64_t begin, int64_t end) {
  const ScoreOptions& scores = rows.scores;
  const at::Device& device = rows.q.device();
  const std::vector<int64_t> t(rows.t.begin() + begin, rows.t.begin() + end);
  const int64_t keys = t.back() + 1;
  at::Tensor x =
      times_keys(rows.q.slice(1, begin, end) * scores.scale, rows.kv, rows.k.slice(1, 0, keys));
  const at::Tensor distance =  // [rows, keys]
      on_device(t, device).unsqueeze(1) - at::arange(keys, x.options().dtype(at::kLong));
  if (scores.cap) x.div_(*scores.cap).tanh_().mul_(*scores.cap);
  if (scores.slopes.defined()) x.sub_(scores.slopes.view({-1, 1, 1}) * distance);
  at::Tensor hidden = distance.lt(0);
  if (scores.window) hidden.logical_or_(distance.ge(*scores.window));
  x.masked_fill_(hidden, -std::numeric_limits<float>::infinity());
  at::Tensor sink;  // [heads, rows, 1]
  if (scores.sinks.defined()) {
    sink = scores.sinks.to(at::kFloat).view({-1, 1, 1}).expand({-1, end - begin, 1});
  }
  return softmax_with_sink_(x, sink);
}

// The sums over each row's keys, [heads, rows].
at::Tensor sums_at(const at::Tensor& weights, const KeysOfRows& keys, int64_t begin, int64_t end) {
  size_t most = 1;
  for (int64_t row = begin; row < end; ++row) {
    most = std::max(most, keys[static_cast<size_t>(row)].size());
  }
  std::vector<int64_t> places;  // [rows, most]; where there is none, the first key counts 0 times
  std::vector<double> counts;
  for (int64_t row = begin; row < end; ++row) {
    const std::vector<int64_t>& own = keys[static_cast<size_t>(row)];
    for (size_t i = 0; i < most; ++i) {
      places.push_back(i < own.size() ? own[i] : 0);
      counts.push_back(i < own.size() ? 1 : 0);
    }
  }
  const std::array<int64_t, 3> shape{1, end - begin, static_cast<int64_t>(most)};
  const at::Tensor index = on_device(places, weights.device()).view(shape);
  const at::Tensor found = weights.gather(2, index.expand({weights.size(0), -1, -1}));
  return (found * on_device(counts, weights.device()).view(shape)).sum(2);
}

}  // namespace

at::Tensor attention_at(const QueryRows& rows, const std::vector<KeysOfRows>& lists) {
  const int64_t count = rows.rows();
  const at::Tensor all = at::zeros({rows.heads(), count, static_cast<int64_t>(lists.size())},
                                   rows.q.options().dtype(at::kDouble));
  const int64_t step = rows_at_once(rows.heads(), rows.k.size(1));
  for (int64_t begin = 0; begin < count; begin += step) {
    const int64_t end = std::min(begin + step, count);
    const at::Tensor weights = weights_of(rows, begin, end);
    for (size_t list = 0; list < lists.size(); ++list) {
      all.slice(1, begin, end)
          .select(2, static_cast<int64_t>(list))
          .copy_(sums_at(weights, lists[list], begin, end));
    }
  }
  return all;
}

int64_t attention_at_workspace(int64_t heads, int64_t kv_heads, int64_t tokens, int64_t d_head) {
  constexpr auto kSingle = static_cast<int64_t>(sizeof(float));
  const int64_t scores = std::min(tokens, rows_at_once(heads, tokens)) * heads * tokens;
  const int64_t vectors = (heads + 2 * kv_heads) * tokens * d_head;
  return (4 * scores + vectors) * kSingle;
}

}  // namespace ropewalk
