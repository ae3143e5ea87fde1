#include "ropewalk/analysis/replicates/position_fit.h"

#include "ropewalk/analysis/replicates/block_pairs.h"
#include "ropewalk/analysis/replicates/pair_fits.h"

namespace ropewalk {
namespace {

constexpr double kSmallest = 1e-9;  // relative to the largest variance

at::Tensor whole_r2(const StreamInput& input, const at::Tensor& values, const at::Tensor& vectors) {
  const at::Tensor along = at::mv(vectors.t(), input.position);
  return (along.square() * inverse_values(values, kSmallest)).sum() / input.position_scatter;
}

// 1 - the ratio of two sums of squared errors: of predicting block g by the fit without blocks b
// and g, and of predicting it by the mean position of these. Replicate 0 uses b = g; replicate b
// uses all g except b.
at::Tensor cross_validated(const BlockPairs& pairs, const at::Tensor& fits) {
  const at::Tensor x = pairs.square(fits);
  const at::Tensor shift =
      pairs.position_mean - pairs.square(pairs.left_times * pairs.inverse);  // [b, g]
  const at::Tensor from = pairs.mean - pairs.square(pairs.left_sums * pairs.inverse.unsqueeze(1));
  const at::Tensor squares = (x * pairs.times_blocks(x)).sum(2).t();
  const at::Tensor miss = shift - (from * x).sum(2);
  const at::Tensor errors = pairs.position_scatter - 2 * (pairs.position * x).sum(2) + squares +
                            pairs.tokens * miss.square();
  const at::Tensor plain = pairs.position_scatter + pairs.tokens * shift.square();
  const auto sums = [](const at::Tensor& of) {
    const at::Tensor whole = of.diagonal();
    return at::cat({whole.sum().reshape({1}), of.sum(1) - whole});
  };
  const at::Tensor ratio = 1 - sums(errors) / sums(plain);
  // A fit without remaining tokens is undefined.
  const at::Tensor empty = pairs.square(pairs.left) <= 1;
  const at::Tensor undefined = at::cat({empty.diagonal().any().reshape({1}), empty.any(1)});
  return at::where(undefined, kUndefined, ratio);
}

}  // namespace

PositionFit position_fit(const StreamReplicates& stream) {
  const StreamInput& input = stream.input;
  const int64_t cases = stream.cases();
  PositionFit result;
  if (!stream.shared->fit.defined()) {
    at::Tensor fit = at::full({3, cases}, kUndefined, at::kDouble);
    const at::Tensor &values = stream.full_sample_eigenvalues(),
                     &vectors = stream.full_sample_eigenvectors();
    const bool varies = values.max().item<double>() > 0 && input.position_scatter > 0;
    if (varies) fit[0][0] = whole_r2(input, values, vectors);
    fit[2][0] = (values <= values.max() * kSmallest).any().to(at::kDouble);
    if (varies && cases > 2) {
      BlockPairs pairs(input);
      const at::Tensor x = pair_fits(pairs, input, values, vectors);
      const at::Tensor r2 = (x * pairs.left_position).sum(1) / pairs.left_scatter;
      fit[0].slice(0, 1).copy_(pairs.square(r2).diagonal());
      fit[1].copy_(cross_validated(pairs, x));
    }
    stream.shared->fit = fit;
  }
  const at::Tensor& fit = stream.shared->fit;
  result.r2 = fit[0];
  result.r2_cv = fit[1];
  result.dropped = fit[2][0].item<double>() == 1;
  return result;
}

}  // namespace ropewalk
