#include "ropewalk/analysis/leading_second_moment.h"

#include <algorithm>

namespace ropewalk {
namespace {

constexpr int64_t kFirst = 4;  // vectors to begin with, as the largest eigenvalues come in pairs
constexpr int64_t kSteps = 12;
constexpr double kSettled = 1e-9;  // of the eigenvalue
constexpr double kNear = 1e-3;

// n μ and μ of every case, in columns.
struct SecondMoments {
  explicit SecondMoments(const StreamCases& stream)
      : products(stream.products),
        mean(stream.mean.unsqueeze(2)),
        sums(mean * stream.tokens.unsqueeze(1).unsqueeze(2)) {}

  at::Tensor times(const at::Tensor& x) const {  // [cases, d, c]
    return at::bmm(products, x) + at::bmm(sums, at::bmm(mean.transpose(1, 2), x));
  }
  at::Tensor largest() const {
    const at::Tensor whole = products + at::bmm(sums, mean.transpose(1, 2));
    return at::linalg_eigvalsh(whole.nan_to_num(0, 0, 0)).select(1, -1);
  }

  at::Tensor products, mean, sums;
};

// What is left of columns outside a space, of length 1.
at::Tensor outside(const at::Tensor& space, at::Tensor columns) {
  for (int i = 0; i < 2; ++i) {
    columns = columns - at::bmm(space, at::bmm(space.transpose(1, 2), columns));
    columns = columns / columns.norm(2, 1, true).clamp_min(1e-300);
  }
  return columns;
}

}  // namespace

at::Tensor leading_second_moment(const StreamCases& stream) {
  const SecondMoments moments(stream);
  const int64_t cases = stream.cases(), d = stream.dimensions();
  const bool finite = at::isfinite(moments.sums).all().item<bool>();  // no case without tokens
  if (cases == 1 || d <= 2 * (kFirst + kSteps) || !finite) return moments.largest();
  // Davidson's method: the components of the first case's products, and its mean, say where to go.
  const at::Tensor &values = stream.whole_values(), &vectors = stream.whole_vectors();
  const at::Tensor widest = vectors.slice(1, d - kFirst).unsqueeze(0);
  const at::Tensor first = at::cat({widest, outside(widest, moments.mean.slice(0, 0, 1))}, 2);
  at::Tensor space = first.expand({cases, d, kFirst + 1});
  at::Tensor image = moments.times(space);
  for (int64_t step = 0; step < kSteps; ++step) {
    auto [found, ritz] = at::linalg_eigh(at::bmm(space.transpose(1, 2), image));
    const at::Tensor top = found.slice(1, -1);   // [cases, 1]
    const at::Tensor along = ritz.slice(2, -1);  // [cases, k, 1]
    const at::Tensor rest =                      // [cases, d]
        (at::bmm(image, along) - at::bmm(space, along) * top.unsqueeze(2)).squeeze(2);
    // An eigenvalue lies within the residual; its error is about the residual squared over the gap.
    const at::Tensor residual = rest.norm(2, 1, true);
    const at::Tensor gap = (top - found.slice(1, -2, -1)).clamp_min(1e-300);
    const at::Tensor error = at::minimum(residual, residual.square() / gap);
    if ((error <= top * kSettled).all().item<bool>()) return top.squeeze(1);
    const at::Tensor below = at::minimum(values.unsqueeze(0) - top, -kNear * top);
    at::Tensor next = at::mm(at::mm(rest, vectors) / below, vectors.t()).unsqueeze(2);
    next = outside(space, next);
    space = at::cat({space, next}, 2);
    image = at::cat({image, moments.times(next)}, 2);
  }
  return moments.largest();
}

}  // namespace ropewalk
