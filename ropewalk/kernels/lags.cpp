#include "ropewalk/kernels/lags.h"

#include <algorithm>

#include "ropewalk/kernels/lags_cpu.h"

namespace ropewalk {
namespace {

// Tokens of which a GPU holds products at once.
constexpr int64_t kGpuChunk = 4096;

void sum_on_cpu(const at::Tensor& q, const at::Tensor& k, const at::Tensor& heads,
                const std::vector<int64_t>& lags, const LagSums& result) {
  const int64_t group = q.size(0) / k.size(0);
  const at::Tensor list = heads.to(at::kLong).contiguous();
  const auto* chosen = list.const_data_ptr<int64_t>();
  const auto width = static_cast<int64_t>(lags.size());
  at::parallel_for(0, list.size(0), 1, [&](int64_t begin, int64_t end) {
    const c10::InferenceMode no_autograd;
    for (int64_t i = begin; i < end; ++i) {
      const auto of = [](const at::Tensor& x, int64_t head) {
        return x.select(0, head).to(at::kFloat).contiguous();
      };
      const at::Tensor queries = of(q, chosen[i]);
      const at::Tensor keys = of(k, chosen[i] / group);
      sum_lags(queries.const_data_ptr<float>(), keys.const_data_ptr<float>(), q.size(1), q.size(2),
               lags, result.sum.mutable_data_ptr<double>() + i * width,
               result.squares.mutable_data_ptr<double>() + i * width);
    }
  });
}

void sum_on_gpu(const at::Tensor& q, const at::Tensor& k, const at::Tensor& heads,
                const std::vector<int64_t>& lags, const LagSums& result) {
  const int64_t tokens = q.size(1);
  const at::Tensor kv_heads = heads.div(q.size(0) / k.size(0), "floor");
  for (int64_t from = 0; from < tokens; from += kGpuChunk) {
    const int64_t to = std::min(from + kGpuChunk, tokens);
    const at::Tensor queries = q.slice(1, from, to).index_select(0, heads).to(at::kFloat);
    for (size_t i = 0; i < lags.size() && lags[i] < to; ++i) {
      const int64_t first = std::max(from, lags[i]);
      const at::Tensor keys = k.slice(1, first - lags[i], to - lags[i]).index_select(0, kv_heads);
      const at::Tensor logits =
          (queries.slice(1, first - from) * keys).sum(-1).to(at::kDouble);  // [heads, tokens]
      const auto lag = static_cast<int64_t>(i);
      result.sum.select(1, lag).add_(logits.sum(1));
      result.squares.select(1, lag).add_(logits.square().sum(1));
    }
  }
}

}  // namespace

std::vector<int64_t> lags_below(int64_t end) {
  std::vector<int64_t> lags;
  for (int64_t lag = 0; lag < std::min<int64_t>(end, 4); ++lag) lags.push_back(lag);
  for (int64_t power = 4; power < end; power *= 2) {
    lags.push_back(power);
    if (power + power / 2 < end) lags.push_back(power + power / 2);
  }
  return lags;
}

LagSums lag_sums(const at::Tensor& q, const at::Tensor& k, const at::Tensor& heads,
                 const std::vector<int64_t>& lags) {
  const auto options = at::TensorOptions().dtype(at::kDouble).device(q.device());
  const std::vector<int64_t> shape{heads.size(0), static_cast<int64_t>(lags.size())};
  const LagSums result{at::zeros(shape, options), at::zeros(shape, options)};
  (q.is_cuda() ? sum_on_gpu : sum_on_cpu)(q, k, heads, lags, result);
  return result;
}

int64_t lag_sums_workspace(int64_t heads, int64_t tokens, int64_t d, const at::Device& device) {
  constexpr auto kSingle = static_cast<int64_t>(sizeof(float));
  if (!device.is_cuda())
    return 2 * std::min<int64_t>(heads, at::get_num_threads()) * tokens * d * kSingle;
  // Queries as they are and in float32, keys, and their products.
  return 4 * heads * std::min(tokens, kGpuChunk) * d * kSingle;
}

}  // namespace ropewalk
