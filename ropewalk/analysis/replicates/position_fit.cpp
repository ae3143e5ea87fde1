#include "ropewalk/analysis/replicates/position_fit.h"

#include <algorithm>
#include <vector>

#include "ropewalk/analysis/math/ritz_directions.h"
#include "ropewalk/analysis/math/tensor_rows.h"
#include "ropewalk/analysis/replicates/block_pairs.h"
#include "ropewalk/kernels/moments/rows.h"

namespace ropewalk {
namespace {

constexpr double kSmallest = 1e-9;           // of the largest variance
constexpr double kSmallestReplicate = 1e-6;  // blocks are float32
constexpr double kConverged = 1e-13;         // of a squared error, before the last step
constexpr double kConvergedPair = 1e-10;     // without two blocks: that is for errors alone
constexpr int kMostSteps = 60;

at::Tensor inverse_values(const at::Tensor& values, double smallest) {
  const at::Tensor kept = (values > values.max() * smallest).logical_and(values > 0);
  return at::where(kept, 1 / values, at::zeros_like(values));
}

// The fits to what is left, of all pairs together. Conjugate gradients, with the inverse of the
// whole sample to go by; a sample without two of many blocks is close to the whole, so that a few
// steps do. Leaving out two blocks moves a fit by nearly what leaving out each does, so fits
// without one block come first and the others begin there. They also show in which directions a
// block holds much of the whole, where the inverse is put right for the pairs with that block. The
// whole sample's products times a fit or a direction are known without a product, as these are that
// inverse times something.
class PairFits {
 public:
  PairFits(BlockPairs& pairs, const StreamInput& input, const at::Tensor& values,
           const at::Tensor& vectors)
      : pairs_(pairs),
        input_(input),
        inverse_(at::mm(vectors * inverse_values(values, kSmallestReplicate), vectors.t())),
        first_(pairs.first.const_data_ptr<int64_t>()),
        second_(pairs.second.const_data_ptr<int64_t>()),
        fits_(static_cast<size_t>(pairs.size())),
        wanted_(fits_.size()),
        directions_(static_cast<size_t>(pairs.count)) {
    const auto room = [&] { return at::empty({pairs.size(), pairs.d}, at::kDouble); };
    x_ = room(), total_x_ = room(), r_ = room(), p_ = room(), total_p_ = room();
    z_ = room(), total_z_ = room(), taken_ = room(), some_ = room(), some_times_ = room();
  }

  at::Tensor solve() {  // [pairs, d]
    want(true);
    begin_single();
    take_steps(kConverged);
    want(false);
    if (direct_) {
      begin_single();
    } else {
      RitzDirections::find(directions_, pairs_.d);
      begin_double();
    }
    take_steps(kConvergedPair);
    return x_;
  }

 private:
  struct Fit {
    double size = 0;  // squared error
    double goal = 0;
    double length = 1;  // of the last step
  };

  void want(bool singles) {
    singles_ = singles;
    for (size_t i = 0; i < wanted_.size(); ++i) wanted_[i] = (first_[i] == second_[i]) == singles;
  }

  // Calls `work` with the number of each wanted pair.
  template <typename Work>
  void each(const Work& work) const {
    for (int64_t i = 0; i < pairs_.size(); ++i) {
      if (wanted_[static_cast<size_t>(i)]) work(i, fits_[static_cast<size_t>(i)]);
    }
  }
  template <typename Work>
  void each(const Work& work) {
    for (int64_t i = 0; i < pairs_.size(); ++i) {
      if (wanted_[static_cast<size_t>(i)]) work(i, fits_[static_cast<size_t>(i)]);
    }
  }

  // to = from times the inverse, of wanted rows.
  void times_inverse(const at::Tensor& from, at::Tensor& to) {
    const int64_t d = pairs_.d;
    int64_t rows = 0;
    each([&](int64_t i, const Fit&) { std::copy_n(row(from, i), d, mutable_row(some_, rows++)); });
    multiply_rows(mutable_row(some_times_, 0), row(some_, 0), rows, row(inverse_, 0), d);
    rows = 0;
    each([&](int64_t i, const Fit&) {
      std::copy_n(row(some_times_, rows++), d, mutable_row(to, i));
    });
  }

  // z, about what the wanted fits lack, of what is left of their equations, and the whole sample's
  // products times it.
  void make_z() {
    const int64_t d = pairs_.d;
    times_inverse(r_, z_);
    each([&](int64_t i, const Fit&) {
      double *const z = mutable_row(z_, i), *const total = mutable_row(total_z_, i);
      std::copy_n(row(r_, i), d, total);
      if (singles_) return;
      directions_[static_cast<size_t>(first_[i])].correct(row(r_, i), z, total, d);
      directions_[static_cast<size_t>(second_[i])].correct(row(r_, i), z, total, d);
    });
  }

  // To begin with, what is left is like the whole, with fewer tokens.
  void begin_single() {
    const int64_t d = pairs_.d;
    times_inverse(pairs_.left_position, x_);
    each([&](int64_t i, const Fit&) {
      const double more = pairs_.all * *row(pairs_.inverse, i);
      blend(mutable_row(x_, i), more, 0, row(x_, i), d);
      std::copy_n(row(pairs_.left_position, i), d, mutable_row(total_x_, i));
      blend(mutable_row(total_x_, i), more, 0, row(total_x_, i), d);
    });
  }

  void begin_double() {
    const int64_t d = pairs_.d;
    const at::Tensor position = input_.position.contiguous();
    const at::Tensor whole = at::mv(inverse_, position);
    const int64_t* const number = pairs_.number.const_data_ptr<int64_t>();
    const auto sum = [&](const at::Tensor& of, int64_t i, const double* less) {
      const auto single = [&](int64_t b) { return row(of, number[b * pairs_.count + b]); };
      double* const to = mutable_row(of, i);
      std::copy_n(single(first_[i]), d, to);
      blend(to, 1, 1, single(second_[i]), d);
      blend(to, 1, -1, less, d);
    };
    each([&](int64_t i, const Fit&) {
      sum(x_, i, row(whole, 0));
      sum(total_x_, i, row(position, 0));
    });
  }

  // Until what is wanted is as exact as asked.
  void take_steps(double converged) {
    const int64_t d = pairs_.d;
    pairs_.times_taken(x_, wanted_, taken_);
    each([&](int64_t i, const Fit&) {
      double* const r = mutable_row(r_, i);
      std::copy_n(row(pairs_.left_position, i), d, r);
      blend(r, 1, -1, row(total_x_, i), d);
      blend(r, 1, 1, row(taken_, i), d);
    });
    make_z();
    each([&](int64_t i, Fit& one) {
      std::copy_n(row(z_, i), d, mutable_row(p_, i));
      std::copy_n(row(total_z_, i), d, mutable_row(total_p_, i));
      one.goal = dot(row(x_, i), row(pairs_.left_position, i), d) * converged;
      one.size = dot(row(r_, i), row(p_, i), d);
    });
    for (int step = 0; step < kMostSteps && still_wanted(); ++step) take_step();
    if (!still_wanted()) return;
    direct_ = true;
    each([&](int64_t i, const Fit&) { solve_directly(i); });
  }

  // Drops what is done; whether anything is left. The direction of the next step is known by then.
  // It is taken at the length of the one before, which is nearly right and costs no product.
  bool still_wanted() {
    bool any = false;
    each([&](int64_t i, const Fit& one) {
      const bool done = one.size <= one.goal;
      wanted_[static_cast<size_t>(i)] = !done;
      any = any || !done;
      if (!done) return;
      blend(mutable_row(x_, i), 1, one.length, row(p_, i), pairs_.d);
      blend(mutable_row(total_x_, i), 1, one.length, row(total_p_, i), pairs_.d);
    });
    return any;
  }

  void take_step() {
    const int64_t d = pairs_.d;
    pairs_.times_taken(p_, wanted_, taken_);
    each([&](int64_t i, Fit& one) {
      double* const left_p = mutable_row(taken_, i);
      blend(left_p, -1, 1, row(total_p_, i), d);
      const double curvature = dot(row(p_, i), left_p, d);
      const double length = curvature <= 0 ? 0 : one.size / curvature;
      if (singles_) {
        directions_[static_cast<size_t>(first_[i])].add_step(row(r_, i), row(z_, i), one.size,
                                                             length, d);
      }
      one.length = length;
      blend(mutable_row(x_, i), 1, length, row(p_, i), d);
      blend(mutable_row(total_x_, i), 1, length, row(total_p_, i), d);
      blend(mutable_row(r_, i), 1, -length, left_p, d);
    });
    make_z();
    each([&](int64_t i, Fit& one) {
      const double next = dot(row(r_, i), row(z_, i), d), ratio = next / one.size;
      blend(mutable_row(p_, i), ratio, 1, row(z_, i), d);
      blend(mutable_row(total_p_, i), ratio, 1, row(total_z_, i), d);
      one.size = next;
    });
  }

  // Where steps do not lead, as the sample hardly determines a fit.
  void solve_directly(int64_t pair) {
    const at::Tensor products = pairs_.left_products(input_.products, pair);
    auto [values, vectors] = at::linalg_eigh(products);
    const at::Tensor along = at::mv(vectors.t(), pairs_.left_position[pair]);
    x_[pair] = at::mv(vectors, along * inverse_values(values, kSmallestReplicate));
  }

  BlockPairs& pairs_;
  const StreamInput& input_;
  at::Tensor inverse_;
  const int64_t *first_, *second_;  // blocks of a pair
  bool singles_ = true;             // whether fits without one block are worked on
  bool direct_ = false;  // whether steps did not lead somewhere: such a fit is no beginning
  std::vector<Fit> fits_;
  std::vector<bool> wanted_;                // pairs that are worked on
  std::vector<RitzDirections> directions_;  // of each block
  at::Tensor x_, total_x_, r_, p_, total_p_, z_, total_z_, taken_;
  at::Tensor some_, some_times_;  // room for times_inverse
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
      const at::Tensor x = PairFits(pairs, input, values, vectors).solve();
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
