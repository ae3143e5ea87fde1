#include "ropewalk/kernels/attention/biased_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace ropewalk {
namespace {

// The number of queries at a time, such that a block of scores stays within 32 MiB.
int64_t block_rows(int64_t heads, int64_t tokens) {
  constexpr int64_t kScores = int64_t{8} << 20;
  return std::clamp<int64_t>(kScores / (heads * tokens), 16, 1024);
}

}  // namespace

at::Tensor softmax_with_sink_(const at::Tensor& scores, const at::Tensor& sink) {
  if (!sink.defined()) return at::softmax(scores, -1);
  const at::Tensor largest = at::maximum(scores.amax(-1, /*keepdim=*/true), sink);
  scores.sub_(largest).exp_();
  return scores.div_(scores.sum(-1, /*keepdim=*/true).add_(at::exp(sink - largest)));
}

at::Tensor alibi_slopes(int64_t heads) {
  const auto series = [](double count, int64_t from, int64_t step, int64_t many) {
    const double base = std::exp2(-std::exp2(-(std::log2(count) - 3)));
    std::vector<double> slopes;
    for (int64_t i = 0; i < many; ++i) {
      slopes.push_back(std::pow(base, static_cast<double>(from + i * step)));
    }
    return slopes;
  };
  int64_t power = 1;
  while (2 * power <= heads) power *= 2;
  std::vector<double> slopes = series(static_cast<double>(power), 1, 1, power);
  const std::vector<double> more = series(static_cast<double>(2 * power), 1, 2, heads - power);
  slopes.insert(slopes.end(), more.begin(), more.end());
  return at::tensor(slopes, at::kDouble).to(at::kFloat);
}

at::Tensor biased_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const ScoreOptions& options) {
  const int64_t tokens = q.size(1);
  const int64_t d_head = q.size(2);
  const int64_t kv_heads = k.size(0);
  const int64_t groups = q.size(0) / kv_heads;
  const at::Tensor queries = q.reshape({kv_heads, groups, tokens, d_head});
  const at::Tensor keys = k.unsqueeze(1).transpose(2, 3);  // [kv_heads, 1, d_head, T]
  const at::Tensor values = v.unsqueeze(1);
  at::Tensor slopes;  // [kv_heads, groups, 1, 1]
  if (options.slopes.defined()) slopes = options.slopes.view({kv_heads, groups, 1, 1});
  at::Tensor sinks;  // [kv_heads, groups, 1, 1]
  if (options.sinks.defined()) {
    sinks = options.sinks.to(at::kFloat).view({kv_heads, groups, 1, 1});
  }
  const at::Tensor result = at::empty({tokens, kv_heads, groups, d_head}, q.options());
  const auto index_options = at::TensorOptions().dtype(at::kLong).device(q.device());
  const int64_t window = options.window.value_or(tokens);
  const int64_t rows = block_rows(q.size(0), tokens);
  for (int64_t begin = 0; begin < tokens; begin += rows) {
    const int64_t end = std::min(begin + rows, tokens);
    const int64_t first = std::max<int64_t>(0, begin - window + 1);
    // [kv_heads, groups, rows, keys]
    at::Tensor scores = at::matmul(queries.slice(2, begin, end), keys.slice(3, first, end))
                            .to(at::kFloat)
                            .mul_(options.scale);
    if (options.cap) scores.div_(*options.cap).tanh_().mul_(*options.cap);
    const at::Tensor distance = at::arange(begin, end, index_options).unsqueeze(1) -
                                at::arange(first, end, index_options).unsqueeze(0);
    if (slopes.defined()) scores.sub_(slopes * distance);
    scores.masked_fill_(distance.lt(0).logical_or_(distance.ge(window)),
                        -std::numeric_limits<double>::infinity());
    const at::Tensor weights = softmax_with_sink_(scores, sinks);
    const at::Tensor out = at::matmul(weights.to(q.scalar_type()), values.slice(2, first, end));
    result.slice(0, begin, end).copy_(out.permute({2, 0, 1, 3}));
  }
  return result;
}

int64_t biased_attention_workspace(int64_t n_q_heads, int64_t tokens, int64_t d_head) {
  constexpr auto kSingle = static_cast<int64_t>(sizeof(float));
  const int64_t scores = n_q_heads * block_rows(n_q_heads, tokens) * tokens;
  // Scores (as computed, widened, ALiBi's part or the probabilities), and copies of queries, keys
  // and values for every head.
  return scores * 4 * kSingle + 3 * n_q_heads * tokens * d_head * kSingle;
}

}  // namespace ropewalk
