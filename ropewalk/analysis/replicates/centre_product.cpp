#include "ropewalk/analysis/replicates/centre_product.h"

namespace ropewalk {

CentreProduct centre_product(const RopeLayer& layer, const at::Tensor& query,
                             const at::Tensor& key) {
  const at::Tensor q_first = query.index_select(1, layer.first);
  const at::Tensor q_second = query.index_select(1, layer.second);
  const at::Tensor k_first = key.index_select(1, layer.first);
  const at::Tensor k_second = key.index_select(1, layer.second);
  return {q_first * k_first + q_second * k_second, q_second * k_first - q_first * k_second,
          (query.index_select(1, layer.rest) * key.index_select(1, layer.rest)).sum(1)};
}

// Of a distance a + b, with a a multiple of a step, the angle is turned by a first: so few angles
// are enough, however far the distances go.
at::Tensor product_by_distance(const CentreProduct& product, const at::Tensor& theta, double factor,
                               int64_t end) {
  constexpr int64_t kStep = 256;
  const int64_t steps = at::divup(end, kStep), cases = product.real.size(0);
  const at::Tensor coarse = at::outer(at::arange(steps, at::kDouble) * kStep, theta);
  const at::Tensor fine = at::outer(theta, at::arange(kStep, at::kDouble));  // [pairs, step]
  const at::Tensor cosines = coarse.cos(), sines = coarse.sin();             // [steps, pairs]
  const at::Tensor real = (product.real * factor * factor).unsqueeze(1);
  const at::Tensor imaginary = (product.imaginary * factor * factor).unsqueeze(1);
  const at::Tensor turned =
      at::cat({real * cosines - imaginary * sines, -(real * sines + imaginary * cosines)},
              2);  // [replicates, steps, 2 pairs]
  const at::Tensor found =
      at::matmul(turned.view({cases * steps, -1}), at::cat({fine.cos(), fine.sin()}))
          .view({cases, steps * kStep})
          .slice(1, 0, end);
  return found + product.rest.unsqueeze(1);
}

}  // namespace ropewalk
