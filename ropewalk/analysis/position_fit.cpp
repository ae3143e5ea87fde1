#include "ropewalk/analysis/position_fit.h"

#include <algorithm>
#include <vector>

#include "ropewalk/analysis/block_pairs.h"
#include "ropewalk/analysis/tensor_rows.h"
#include "ropewalk/kernels/rows.h"

namespace ropewalk {
namespace {

constexpr double kSmallest = 1e-9;           // of the largest variance
constexpr double kSmallestReplicate = 1e-6;  // blocks are float32
constexpr double kConverged = 1e-13;         // of a squared error
constexpr double kConvergedPair = 1e-11;     // without two blocks: that is for errors alone
constexpr int kMostSteps = 60;

at::Tensor inverse_values(const at::Tensor& values, double smallest) {
  const at::Tensor kept = (values > values.max() * smallest).logical_and(values > 0);
  return at::where(kept, 1 / values, at::zeros_like(values));
}

// The fits to what is left, of all pairs at once. Conjugate gradients, with the inverse of the
// whole sample to go by; a sample without two of many blocks is close to the whole, so that a few
// steps do. The whole sample's products times each direction are known without a product, as the
// direction is that inverse times something.
class PairFits {
 public:
  PairFits(BlockPairs& pairs, const at::Tensor& total, const at::Tensor& values,
           const at::Tensor& vectors)
      : pairs_(pairs),
        total_(total),
        inverse_(at::mm(vectors * inverse_values(values, kSmallestReplicate), vectors.t())),
        done_(static_cast<size_t>(pairs.size())) {}

  at::Tensor solve() {  // [pairs, d]
    begin();
    for (int step = 0; step < kMostSteps; ++step) {
      if (std::all_of(done_.begin(), done_.end(), [](const Row& row) { return row.done; })) {
        return x_;
      }
      take_step();
    }
    for (int64_t pair = 0; pair < pairs_.size(); ++pair) {
      if (!done_[static_cast<size_t>(pair)].done) solve_directly(pair);
    }
    return x_;
  }

 private:
  struct Row {
    double size = 0;  // squared error
    double goal = 0;
    bool done = false;
    void reached(double error) {
      size = error;
      done = size <= goal;
    }
  };

  // To begin with, what is left is like the whole, with fewer tokens.
  void begin() {
    const at::Tensor more = (pairs_.all * pairs_.inverse).unsqueeze(1);
    const at::Tensor& goal = pairs_.left_position;
    x_ = at::mm(goal, inverse_) * more;
    taken_ = at::empty_like(x_);
    pairs_.times_taken(x_, taken_);
    r_ = goal * (1 - more) + taken_;
    p_ = at::mm(r_, inverse_);
    total_p_ = r_.clone();
    z_ = at::empty_like(p_);
    const int64_t *first = pairs_.first.const_data_ptr<int64_t>(),
                  *second = pairs_.second.const_data_ptr<int64_t>();
    for (int64_t i = 0; i < pairs_.size(); ++i) {
      Row& one = done_[static_cast<size_t>(i)];
      one.goal = dot(row(x_, i), row(goal, i), pairs_.d) *
                 (first[i] == second[i] ? kConverged : kConvergedPair);
      one.reached(dot(row(r_, i), row(p_, i), pairs_.d));
    }
  }

  void take_step() {
    const int64_t d = pairs_.d;
    pairs_.times_taken(p_, taken_);
    for (int64_t i = 0; i < pairs_.size(); ++i) {
      const Row& one = done_[static_cast<size_t>(i)];
      if (one.done) continue;
      double* const left_p = mutable_row(taken_, i);
      blend(left_p, -1, 1, row(total_p_, i), d);
      const double curvature = dot(row(p_, i), left_p, d);
      const double length = curvature <= 0 ? 0 : one.size / curvature;
      blend(mutable_row(x_, i), 1, length, row(p_, i), d);
      blend(mutable_row(r_, i), 1, -length, left_p, d);
    }
    at::mm_out(z_, r_, inverse_);
    for (int64_t i = 0; i < pairs_.size(); ++i) {
      Row& one = done_[static_cast<size_t>(i)];
      if (one.done) continue;
      const double next = dot(row(r_, i), row(z_, i), d), ratio = next / one.size;
      blend(mutable_row(p_, i), ratio, 1, row(z_, i), d);
      blend(mutable_row(total_p_, i), ratio, 1, row(r_, i), d);
      one.reached(next);
    }
  }

  // Where steps do not lead, as the sample hardly determines a fit.
  void solve_directly(int64_t pair) {
    auto [values, vectors] = at::linalg_eigh(pairs_.left_products(total_, pair));
    const at::Tensor along = at::mv(vectors.t(), pairs_.left_position[pair]);
    x_[pair] = at::mv(vectors, along * inverse_values(values, kSmallestReplicate));
  }

  BlockPairs& pairs_;
  const at::Tensor& total_;
  at::Tensor inverse_;
  std::vector<Row> done_;
  at::Tensor x_, r_, p_, total_p_, z_, taken_;
};

at::Tensor whole_r2(const StreamInput& input, const at::Tensor& values, const at::Tensor& vectors) {
  const at::Tensor along = at::mv(vectors.t(), input.position);
  return (along.square() * inverse_values(values, kSmallest)).sum() / input.position_scatter;
}

// Errors of predicting block g by the fit without blocks b and g, and of predicting it by their
// mean position: 1 - the ratio of the sums. Case 0 has b = g, case b all g but b.
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
    if (varies) fit[0][0] = whole_r2(input, values, vectors);
    fit[2][0] = (values <= values.max() * kSmallest).any().to(at::kDouble);
    if (varies && cases > 2) {
      BlockPairs pairs(input);
      const at::Tensor x = PairFits(pairs, input.products, values, vectors).solve();
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
