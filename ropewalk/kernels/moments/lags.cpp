#include "ropewalk/kernels/moments/lags.h"

#include <algorithm>

#include "ropewalk/base/error.h"
#include "ropewalk/kernels/gpu/gpu.h"
#include "ropewalk/kernels/moments/lags_cpu.h"

namespace ropewalk {
namespace {

// Tokens of a part: small enough that threads have parts to share. Parts are added in order.
constexpr int64_t kRun = 256;

void add_on_cpu(const at::Tensor& q, const at::Tensor& k, const LagHeads& heads,
                const std::vector<int64_t>& lags, const LagSums& to) {
  const int64_t group = q.size(0) / k.size(0);
  const at::Tensor list = heads.queries.to(at::kLong).contiguous();
  const auto* chosen = list.const_data_ptr<int64_t>();
  const auto width = static_cast<int64_t>(lags.size());
  const int64_t runs = at::divup(q.size(1), kRun);
  const at::Tensor keys = k.to(at::kFloat).contiguous();
  const at::Tensor found = at::zeros({runs, list.size(0), 2, width}, at::kDouble);
  at::parallel_for(0, runs * list.size(0), 1, [&](int64_t begin, int64_t end) {
    const c10::InferenceMode no_autograd;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t head = chosen[i % list.size(0)];
      const int64_t first = i / list.size(0) * kRun;
      const int64_t last = std::min(first + kRun, q.size(1));
      const at::Tensor queries =
          q.select(0, head).slice(0, first, last).to(at::kFloat).contiguous();
      double* sums = found.mutable_data_ptr<double>() + i * 2 * width;
      sum_lags(queries.const_data_ptr<float>(),
               keys.const_data_ptr<float>() + head / group * keys.stride(0), first, last, q.size(2),
               lags.data(), width, sums, sums + width);
    }
  });
  const at::Tensor all = found.sum(0);
  to.sum.add_(all.select(1, 0));
  to.squares.add_(all.select(1, 1));
  to.count.add_(q.size(1) - at::tensor(lags, at::kDouble));
}

// Tokens of a part: small enough for a large GPU, large enough that few parts are added up.
int64_t gpu_tile(int64_t tokens) { return std::clamp<int64_t>((tokens + 127) / 128, 64, 1024); }

void add_on_gpu(const at::Tensor& q, const at::Tensor& k, const LagHeads& heads,
                const std::vector<int64_t>& lags, const LagSums& to) {
  if (q.size(2) > cuda::kMostLagDimensions || lags.size() > cuda::kMostLags) {
    throw SystemError(
        "logits by distance: found {} lags of {} dimensions, expected at most {} of {} on a GPU; "
        "use --device cpu",
        lags.size(), q.size(2), cuda::kMostLags, cuda::kMostLagDimensions);
  }
  cuda::LagsPass pass;
  pass.type = number_type(q);
  pass.queries = heads_of(q, heads.queries);
  pass.keys = heads_of(k, heads.keys);
  pass.group = q.size(0) / k.size(0);
  pass.tokens = q.size(1);
  pass.d = q.size(2);
  pass.lag_count = static_cast<int>(lags.size());
  std::copy(lags.begin(), lags.end(), pass.lags);
  pass.tile = gpu_tile(pass.tokens);
  const at::Tensor parts =
      at::empty({pass.tiles(), pass.queries.count, pass.lag_count, 2}, to.sum.options());
  pass.parts = parts.mutable_data_ptr<double>();
  pass.sum = to.sum.mutable_data_ptr<double>();
  pass.squares = to.squares.mutable_data_ptr<double>();
  pass.count = to.count.mutable_data_ptr<double>();
  pass.stride = to.sum.stride(0);
  cuda::run(pass, current_stream(q));
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

void add_lag_sums(const at::Tensor& q, const at::Tensor& k, const LagHeads& heads,
                  const std::vector<int64_t>& lags, const LagSums& to) {
  (q.is_cuda() ? add_on_gpu : add_on_cpu)(q, k, heads, lags, to);
}

int64_t lag_sums_workspace(int64_t q_heads, int64_t kv_heads, int64_t tokens, int64_t d,
                           const at::Device& device) {
  if (device.is_cuda()) {
    const int64_t tile = gpu_tile(tokens);
    return (tokens + tile - 1) / tile * q_heads * cuda::kMostLags * 2 *
           static_cast<int64_t>(sizeof(double));
  }
  return (kv_heads * tokens + at::get_num_threads() * std::min(tokens, kRun)) * d *
         static_cast<int64_t>(sizeof(float));
}

}  // namespace ropewalk
