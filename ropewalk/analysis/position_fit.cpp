#include "ropewalk/analysis/position_fit.h"

#include <algorithm>
#include <limits>

namespace ropewalk {
namespace {

constexpr double kSmallest = 1e-9;           // of the largest variance
constexpr double kSmallestReplicate = 1e-6;  // blocks are float32
constexpr double kConverged = 1e-13;         // of a squared error
constexpr int kMostSteps = 60;

// What is left of a stream without blocks i and j, for all pairs of i <= j: one block less where
// they are equal. Sums are about the mean of all tokens, so that leaving out is subtraction, and
// the mean of what is left costs one more rank.
class Pairs {
 public:
  explicit Pairs(const StreamInput& input)
      : count(static_cast<int64_t>(input.block_tokens.size())),
        all(input.tokens),
        tokens(row(input.block_tokens)),
        position_mean(row(input.block_position_mean) - input.position_mean),
        position_scatter(row(input.block_position_scatter)),
        mean(input.block_mean - input.mean),
        position(input.block_position),
        products(input.block_products),
        sums(tokens.unsqueeze(1) * mean) {
    const at::Tensor upper = at::triu_indices(count, count);
    first = upper[0], second = upper[1];
    once = at::where(first == second, 0.5, 1.0).to(at::kDouble);
    place = at::empty({count, count}, at::kLong);
    const at::Tensor numbers = at::arange(first.size(0));
    place.index_put_({first, second}, numbers);
    place.index_put_({second, first}, numbers);
    const at::Tensor times = tokens * position_mean;
    left = input.tokens - both(tokens);
    inverse = at::where(left > 0, 1 / left, at::zeros_like(left));
    left_sums = -both(sums);
    left_times = -both(times);
    left_position = input.position - both(position + sums * position_mean.unsqueeze(1)) -
                    left_sums * (left_times * inverse).unsqueeze(1);
    left_scatter = input.position_scatter - both(position_scatter + times * position_mean) -
                   left_times.square() * inverse;
  }

  // Of pairs, as a square of blocks: [b, g, ..].
  at::Tensor square(const at::Tensor& of_pairs) const { return of_pairs.index({place}); }

  // Each block's own products times the vectors of its pairs: [b, g, d].
  at::Tensor times_blocks(const at::Tensor& square) const { return at::bmm(square, products); }

  // What leaving out takes from the products of all, times the vectors of pairs.
  at::Tensor times_taken(const at::Tensor& x) const {
    const at::Tensor vectors = square(x);
    const at::Tensor one =
        times_blocks(vectors).addcmul_(at::bmm(vectors, mean.unsqueeze(2)), sums.unsqueeze(1));
    return (one.index({first, second}) + one.index({second, first}))
        .mul_(once.unsqueeze(1))
        .addcmul_(left_sums, ((left_sums * x).sum(1) * inverse).unsqueeze(1));
  }

  // The products of what is left, about its mean.
  at::Tensor left_products(const at::Tensor& total, int64_t pair) const {
    const int64_t i = first[pair].item<int64_t>(), j = second[pair].item<int64_t>();
    const auto taken = [&](int64_t b) { return products[b] + at::outer(sums[b], mean[b]); };
    at::Tensor result = total - taken(i);
    if (i != j) result -= taken(j);
    return result.sub_(at::outer(left_sums[pair], left_sums[pair]) * inverse[pair]);
  }

  int64_t count;                                       // of blocks
  double all;                                          // tokens
  at::Tensor tokens, position_mean, position_scatter;  // [b]
  at::Tensor mean, position, products, sums;           // [b, ..]
  at::Tensor first, second;                            // blocks of a pair
  at::Tensor place;                                    // of a pair among pairs: [b, g]
  // Of what is left without a pair: [pairs, ..].
  at::Tensor left, inverse, left_sums, left_times, left_position, left_scatter;

 private:
  static at::Tensor row(const std::vector<double>& values) {
    return at::tensor(values, at::TensorOptions().dtype(at::kDouble));
  }
  at::Tensor both(const at::Tensor& of_blocks) const {
    const at::Tensor sum = of_blocks.index({first}) + of_blocks.index({second});
    return of_blocks.dim() == 1 ? sum * once : sum * once.unsqueeze(1);
  }

  at::Tensor once;  // [pairs]: a half where both blocks are the same
};

at::Tensor inverse_values(const at::Tensor& values, double smallest) {
  const at::Tensor kept = (values > values.max() * smallest).logical_and(values > 0);
  return at::where(kept, 1 / values, at::zeros_like(values));
}

// Of samples that steps do not lead to, as they hardly determine a fit.
void solve_directly(const Pairs& pairs, const at::Tensor& total, const at::Tensor& done,
                    at::Tensor& x) {
  for (int64_t pair = 0; pair < x.size(0); ++pair) {
    if (done[pair].item<bool>()) continue;
    auto [values, vectors] = at::linalg_eigh(pairs.left_products(total, pair));
    const at::Tensor along = at::mv(vectors.t(), pairs.left_position[pair]);
    x[pair] = at::mv(vectors, along * inverse_values(values, kSmallestReplicate));
  }
}

// The fits to what is left, of all pairs at once: [pairs, d]. Conjugate gradients, with the inverse
// of the whole sample to go by; a sample without two of many blocks is close to the whole, so that
// a few steps do. The whole sample's products times each direction are known without a product, as
// the direction is that inverse times something.
at::Tensor solve_all(const Pairs& pairs, const at::Tensor& total, const at::Tensor& values,
                     const at::Tensor& vectors) {
  const at::Tensor inverse =
      at::mm(vectors * inverse_values(values, kSmallestReplicate), vectors.t());
  const auto dots = [](const at::Tensor& a, const at::Tensor& b) { return (a * b).sum(1, true); };
  // To begin with, what is left is like the whole, with fewer tokens.
  const at::Tensor more = (pairs.all * pairs.inverse).unsqueeze(1);
  at::Tensor x = at::mm(pairs.left_position, inverse) * more;
  const at::Tensor goal = dots(x, pairs.left_position) * kConverged;
  at::Tensor r = pairs.left_position * (1 - more) + pairs.times_taken(x);
  at::Tensor p = at::mm(r, inverse), total_p = r.clone(), size = dots(r, p);
  at::Tensor done = size <= goal;
  for (int step = 0; step < kMostSteps; ++step) {
    if (done.all().item<bool>()) return x;
    const at::Tensor left_p = total_p - pairs.times_taken(p);
    const at::Tensor curvature = dots(p, left_p);
    const at::Tensor length = at::where(done.logical_or(curvature <= 0), 0.0, size / curvature);
    x.addcmul_(p, length);
    r.addcmul_(left_p, length, -1);
    const at::Tensor z = at::mm(r, inverse);
    const at::Tensor next = dots(r, z);
    const at::Tensor share = at::where(done, 0.0, next / size);
    p.mul_(share).add_(z);
    total_p.mul_(share).add_(r);
    size = at::where(done, size, next);
    done = size <= goal;
  }
  solve_directly(pairs, total, done.squeeze(1), x);
  return x;
}

at::Tensor whole_r2(const StreamInput& input, const at::Tensor& values, const at::Tensor& vectors) {
  const at::Tensor along = at::mv(vectors.t(), input.position);
  return (along.square() * inverse_values(values, kSmallest)).sum() / input.position_scatter;
}

// Errors of predicting block g by the fit without blocks b and g, and of predicting it by their
// mean position: 1 - the ratio of the sums. Case 0 has b = g, case b all g but b.
at::Tensor cross_validated(const Pairs& pairs, const at::Tensor& fits) {
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
  // A sample that is left nothing to fit says nothing.
  const at::Tensor empty = pairs.square(pairs.left) <= 1;
  const at::Tensor undefined = at::cat({empty.diagonal().any().reshape({1}), empty.any(1)});
  return at::where(undefined, kUndefined, ratio);
}

}  // namespace

PositionFit position_fit(const StreamCases& stream) {
  const StreamInput& input = stream.input;
  const int64_t cases = stream.cases();
  PositionFit result;
  if (!stream.shared->fit.defined()) {
    at::Tensor fit = at::full({3, cases}, kUndefined, at::kDouble);
    const at::Tensor &values = stream.whole_values(), &vectors = stream.whole_vectors();
    const bool varies = values.max().item<double>() > 0 && input.position_scatter > 0;
    if (varies) {
      fit[0][0] = whole_r2(input, values, vectors);
      fit[2][0] = (values <= values.max() * kSmallest).any().to(at::kDouble);
    }
    if (varies && cases > 2) {
      const Pairs pairs(input);
      const at::Tensor x = solve_all(pairs, input.products, values, vectors);
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
