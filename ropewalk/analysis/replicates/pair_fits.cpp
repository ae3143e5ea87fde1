#include "ropewalk/analysis/replicates/pair_fits.h"

#include <algorithm>
#include <vector>

#include "ropewalk/analysis/math/ritz_directions.h"
#include "ropewalk/analysis/math/tensor_rows.h"
#include "ropewalk/kernels/moments/rows.h"

namespace ropewalk {
namespace {

constexpr double kSmallest = 1e-6;    // relative to the largest variance: blocks are float32
constexpr double kConverged = 1e-13;  // squared error before the last step, relative
// for fits without two blocks, which are needed for errors only
constexpr double kConvergedPair = 1e-10;
constexpr int kMostSteps = 60;

// One vector per pair, and next to it the whole sample's products times this vector: [pairs, d].
// Where a vector is the whole sample's inverse times another vector, the product is known without a
// multiplication.
struct KnownVectors {
  at::Tensor own;
  at::Tensor total;

  static KnownVectors room(const BlockPairs& pairs) {
    const auto one = [&] { return at::empty({pairs.size(), pairs.d}, at::kDouble); };
    return {one(), one()};
  }
  // Sets row i of both to scale · row + weight · row of the others.
  void blend_row(int64_t i, double scale, double weight, const KnownVectors& others) {
    const int64_t d = own.size(1);
    blend(mutable_row(own, i), scale, weight, row(others.own, i), d);
    blend(mutable_row(total, i), scale, weight, row(others.total, i), d);
  }
};

// Fits the position without each pair of blocks, all pairs together, by conjugate gradients. The
// inverse for the whole sample is the preconditioner: without two of many blocks a sample is close
// to the whole one, so that a few steps are enough. Leaving out two blocks changes a fit by about
// the sum of the changes without each, so fits without one block come first and the others start
// from these. The first fits also show along which directions a block holds much of the whole
// variance; for pairs with that block the preconditioner is corrected there.
class PairFits {
 public:
  PairFits(BlockPairs& pairs, const StreamInput& input, const at::Tensor& values,
           const at::Tensor& vectors)
      : pairs_(pairs),
        input_(input),
        d_(pairs.d),
        inverse_(at::mm(vectors * inverse_values(values, kSmallest), vectors.t())),
        first_(pairs.first.const_data_ptr<int64_t>()),
        second_(pairs.second.const_data_ptr<int64_t>()),
        fits_(static_cast<size_t>(pairs.size())),
        wanted_(fits_.size()),
        directions_(static_cast<size_t>(pairs.count)) {
    for (at::Tensor* one : {&left_, &taken_, &some_, &some_times_}) {
      *one = at::empty({pairs.size(), pairs.d}, at::kDouble);
    }
  }

  at::Tensor solve() {  // [pairs, d]
    want(true);
    start_single_fits();
    take_steps(kConverged);
    want(false);
    if (direct_) {
      start_single_fits();
    } else {
      RitzDirections::compute_all(directions_, d_);
      start_double_fits();
    }
    take_steps(kConvergedPair);
    return x_.own;
  }

 private:
  struct Fit {
    double size = 0;  // squared error
    double goal = 0;
    double length = 1;  // length of the last step
  };

  void want(bool singles) {
    singles_ = singles;
    for (size_t i = 0; i < wanted_.size(); ++i) wanted_[i] = (first_[i] == second_[i]) == singles;
  }

  // Calls `work` for each wanted pair, with its index and its fit.
  template <typename Work>
  void each(const Work& work) {
    for (int64_t i = 0; i < pairs_.size(); ++i) {
      if (wanted_[static_cast<size_t>(i)]) work(i, fits_[static_cast<size_t>(i)]);
    }
  }

  RitzDirections& directions_of(int64_t block) { return directions_[static_cast<size_t>(block)]; }

  // Sets the wanted rows of `to` to the inverse times these rows of `from`.
  void times_inverse(const at::Tensor& from, at::Tensor& to) {
    int64_t rows = 0;
    each([&](int64_t i, const Fit&) { std::copy_n(row(from, i), d_, mutable_row(some_, rows++)); });
    multiply_rows(mutable_row(some_times_, 0), row(some_, 0), rows, row(inverse_, 0), d_);
    rows = 0;
    each([&](int64_t i, const Fit&) {
      std::copy_n(row(some_times_, rows++), d_, mutable_row(to, i));
    });
  }

  // Sets z to the preconditioned residual of the wanted fits, which is close to their error.
  void precondition() {
    times_inverse(left_, z_.own);
    each([&](int64_t i, const Fit&) {
      double *const z = mutable_row(z_.own, i), *const total = mutable_row(z_.total, i);
      std::copy_n(row(left_, i), d_, total);
      if (singles_) return;
      directions_of(first_[i]).correct(row(left_, i), z, total, d_);
      directions_of(second_[i]).correct(row(left_, i), z, total, d_);
    });
  }

  // Starts from the whole sample's inverse, scaled to the tokens that remain.
  void start_single_fits() {
    times_inverse(pairs_.left_position, x_.own);
    each([&](int64_t i, const Fit&) {
      const double more = pairs_.all * *row(pairs_.inverse, i);
      std::copy_n(row(pairs_.left_position, i), d_, mutable_row(x_.total, i));
      x_.blend_row(i, more, 0, x_);
    });
  }

  void start_double_fits() {
    const at::Tensor position = input_.position.contiguous();
    const at::Tensor whole = at::mv(inverse_, position);
    const int64_t* const number = pairs_.number.const_data_ptr<int64_t>();
    const auto sum = [&](const at::Tensor& of, int64_t i, const double* less) {
      const auto single = [&](int64_t b) { return row(of, number[b * pairs_.count + b]); };
      double* const to = mutable_row(of, i);
      std::copy_n(single(first_[i]), d_, to);
      blend(to, 1, 1, single(second_[i]), d_);
      blend(to, 1, -1, less, d_);
    };
    each([&](int64_t i, const Fit&) {
      sum(x_.own, i, row(whole, 0));
      sum(x_.total, i, row(position, 0));
    });
  }

  // Iterates until every wanted fit is as exact as requested.
  void take_steps(double converged) {
    pairs_.times_left_out(x_.own, wanted_, taken_);
    each([&](int64_t i, const Fit&) {
      double* const left = mutable_row(left_, i);
      std::copy_n(row(pairs_.left_position, i), d_, left);
      blend(left, 1, -1, row(x_.total, i), d_);
      blend(left, 1, 1, row(taken_, i), d_);
    });
    precondition();
    each([&](int64_t i, Fit& one) {
      std::copy_n(row(z_.own, i), d_, mutable_row(p_.own, i));
      std::copy_n(row(z_.total, i), d_, mutable_row(p_.total, i));
      one.goal = dot(row(x_.own, i), row(pairs_.left_position, i), d_) * converged;
      one.size = dot(row(left_, i), row(p_.own, i), d_);
    });
    for (int step = 0; step < kMostSteps && any_unfinished(); ++step) take_step();
    if (!any_unfinished()) return;
    direct_ = true;
    each([&](int64_t i, const Fit&) { solve_directly(i); });
  }

  // Marks finished fits; returns whether any is left. A finished fit takes one more step, because
  // its direction is already known: with the length of the step before, which is nearly right and
  // costs no product.
  bool any_unfinished() {
    bool any = false;
    each([&](int64_t i, const Fit& one) {
      const bool done = one.size <= one.goal;
      wanted_[static_cast<size_t>(i)] = !done;
      any = any || !done;
      if (done) x_.blend_row(i, 1, one.length, p_);
    });
    return any;
  }

  void take_step() {
    pairs_.times_left_out(p_.own, wanted_, taken_);
    each([&](int64_t i, Fit& one) {
      double* const left_p = mutable_row(taken_, i);
      blend(left_p, -1, 1, row(p_.total, i), d_);
      const double curvature = dot(row(p_.own, i), left_p, d_);
      one.length = curvature <= 0 ? 0 : one.size / curvature;
      if (singles_) {
        directions_of(first_[i]).add_step(row(left_, i), row(z_.own, i), one.size, one.length, d_);
      }
      x_.blend_row(i, 1, one.length, p_);
      blend(mutable_row(left_, i), 1, -one.length, left_p, d_);
    });
    precondition();
    each([&](int64_t i, Fit& one) {
      const double next = dot(row(left_, i), row(z_.own, i), d_);
      p_.blend_row(i, next / one.size, 1, z_);
      one.size = next;
    });
  }

  // Used where the steps do not converge, because the sample hardly determines a fit.
  void solve_directly(int64_t pair) {
    const at::Tensor products = pairs_.left_products(input_.products, pair);
    auto [values, vectors] = at::linalg_eigh(products);
    const at::Tensor along = at::mv(vectors.t(), pairs_.left_position[pair]);
    x_.own[pair] = at::mv(vectors, along * inverse_values(values, kSmallest));
  }

  BlockPairs& pairs_;
  const StreamInput& input_;
  const int64_t d_;
  at::Tensor inverse_;
  const int64_t *first_, *second_;  // the two blocks of each pair
  bool singles_ = true;             // whether the fits without one block are being computed
  bool direct_ = false;  // whether a fit did not converge; others then cannot start from these fits
  std::vector<Fit> fits_;
  std::vector<bool> wanted_;                     // pairs that are not finished
  std::vector<RitzDirections> directions_;       // one per block
  KnownVectors x_ = KnownVectors::room(pairs_);  // the fits
  KnownVectors p_ = KnownVectors::room(pairs_);  // directions of the steps
  KnownVectors z_ = KnownVectors::room(pairs_);
  at::Tensor left_;               // residuals of the equations
  at::Tensor taken_;              // products of a pair's blocks
  at::Tensor some_, some_times_;  // buffers of times_inverse
};

}  // namespace

at::Tensor inverse_values(const at::Tensor& values, double smallest) {
  const at::Tensor kept = (values > values.max() * smallest).logical_and(values > 0);
  return at::where(kept, 1 / values, at::zeros_like(values));
}

at::Tensor pair_fits(BlockPairs& pairs, const StreamInput& input, const at::Tensor& values,
                     const at::Tensor& vectors) {
  return PairFits(pairs, input, values, vectors).solve();
}

}  // namespace ropewalk
