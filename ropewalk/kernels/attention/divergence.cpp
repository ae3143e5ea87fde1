#include "ropewalk/kernels/attention/divergence.h"

#include "ropewalk/kernels/gpu/passes.h"

namespace ropewalk {
namespace {

// The sums over rows of softmax(x) (x - y), [rows] float64.
at::Tensor mean_gaps(const at::Tensor& x, const at::Tensor& of_x, const at::Tensor& y) {
  if (!x.is_cpu()) {
    at::Tensor shares = (x - of_x.to(at::kFloat).unsqueeze(1)).exp_();
    return shares.mul_(x - y).sum(1, /*keepdim=*/false, at::kDouble);
  }
  const at::Tensor a = x.contiguous(), b = y.contiguous();
  const at::Tensor result = at::empty({x.size(0)}, x.options().dtype(at::kDouble));
  const GapPass pass{a.const_data_ptr<float>(), of_x.const_data_ptr<double>(),
                     b.const_data_ptr<float>(), x.size(1), result.mutable_data_ptr<double>()};
  at::parallel_for(0, x.size(0), 1,
                   [&](int64_t begin, int64_t end) { cpu::run(pass, begin, end); });
  return result;
}

}  // namespace

at::Tensor divergence(const at::Tensor& x, const at::Tensor& of_x, const at::Tensor& y,
                      const at::Tensor& of_y) {
  return mean_gaps(x, of_x, y) + (of_y - of_x);
}

}  // namespace ropewalk
