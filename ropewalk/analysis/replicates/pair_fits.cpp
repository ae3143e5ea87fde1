#include "ropewalk/analysis/replicates/pair_fits.h"

#include <algorithm>
#include <vector>

#include "ropewalk/analysis/math/ritz_directions.h"
#include "ropewalk/analysis/math/tensor_rows.h"
#include "ropewalk/kernels/moments/rows.h"

namespace ropewalk {
namespace {

constexpr double kSmallest = 1e-6;        // of the largest variance: blocks are float32
constexpr double kConverged = 1e-13;      // of a squared error, before the last step
constexpr double kConvergedPair = 1e-10;  // without two blocks: that is for errors alone
constexpr int kMostSteps = 60;

// Vectors of pairs, with the whole sample's products times each: [pairs, d]. These are known
// without a product where a vector is the inverse of the whole times something.
struct KnownVectors {
  at::Tensor own;
  at::Tensor total;

  static KnownVectors room(const BlockPairs& pairs) {
    const auto one = [&] { return at::empty({pairs.size(), pairs.d}, at::kDouble); };
    return {one(), one()};
  }
  // This row of both = scale · it + weight · that of the others.
  void blend_row(int64_t i, double scale, double weight, const KnownVectors& others) {
    const int64_t d = own.size(1);
    blend(mutable_row(own, i), scale, weight, row(others.own, i), d);
    blend(mutable_row(total, i), scale, weight, row(others.total, i), d);
  }
};

// The fits to what is left, of all pairs together. Conjugate gradients, with the inverse of the
// whole sample to go by; a sample without two of many blocks is close to the whole, so that a few
// steps do. Leaving out two blocks moves a fit by nearly what leaving out each does, so fits
// without one block come first and the others begin there. They also show in which directions a
// block holds much of the whole, where the inverse is put right for the pairs with that block.
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
    begin_single();
    take_steps(kConverged);
    want(false);
    if (direct_) {
      begin_single();
    } else {
      RitzDirections::find(directions_, d_);
      begin_double();
    }
    take_steps(kConvergedPair);
    return x_.own;
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
  void each(const Work& work) {
    for (int64_t i = 0; i < pairs_.size(); ++i) {
      if (wanted_[static_cast<size_t>(i)]) work(i, fits_[static_cast<size_t>(i)]);
    }
  }

  RitzDirections& directions_of(int64_t block) { return directions_[static_cast<size_t>(block)]; }

  // to = from times the inverse, of wanted rows.
  void times_inverse(const at::Tensor& from, at::Tensor& to) {
    int64_t rows = 0;
    each([&](int64_t i, const Fit&) { std::copy_n(row(from, i), d_, mutable_row(some_, rows++)); });
    multiply_rows(mutable_row(some_times_, 0), row(some_, 0), rows, row(inverse_, 0), d_);
    rows = 0;
    each([&](int64_t i, const Fit&) {
      std::copy_n(row(some_times_, rows++), d_, mutable_row(to, i));
    });
  }

  // z, about what the wanted fits lack, of what is left of their equations.
  void make_z() {
    times_inverse(left_, z_.own);
    each([&](int64_t i, const Fit&) {
      double *const z = mutable_row(z_.own, i), *const total = mutable_row(z_.total, i);
      std::copy_n(row(left_, i), d_, total);
      if (singles_) return;
      directions_of(first_[i]).correct(row(left_, i), z, total, d_);
      directions_of(second_[i]).correct(row(left_, i), z, total, d_);
    });
  }

  // To begin with, what is left is like the whole, with fewer tokens.
  void begin_single() {
    times_inverse(pairs_.left_position, x_.own);
    each([&](int64_t i, const Fit&) {
      const double more = pairs_.all * *row(pairs_.inverse, i);
      std::copy_n(row(pairs_.left_position, i), d_, mutable_row(x_.total, i));
      x_.blend_row(i, more, 0, x_);
    });
  }

  void begin_double() {
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

  // Until what is wanted is as exact as asked.
  void take_steps(double converged) {
    pairs_.times_taken(x_.own, wanted_, taken_);
    each([&](int64_t i, const Fit&) {
      double* const left = mutable_row(left_, i);
      std::copy_n(row(pairs_.left_position, i), d_, left);
      blend(left, 1, -1, row(x_.total, i), d_);
      blend(left, 1, 1, row(taken_, i), d_);
    });
    make_z();
    each([&](int64_t i, Fit& one) {
      std::copy_n(row(z_.own, i), d_, mutable_row(p_.own, i));
      std::copy_n(row(z_.total, i), d_, mutable_row(p_.total, i));
      one.goal = dot(row(x_.own, i), row(pairs_.left_position, i), d_) * converged;
      one.size = dot(row(left_, i), row(p_.own, i), d_);
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
      if (done) x_.blend_row(i, 1, one.length, p_);
    });
    return any;
  }

  void take_step() {
    pairs_.times_taken(p_.own, wanted_, taken_);
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
    make_z();
    each([&](int64_t i, Fit& one) {
      const double next = dot(row(left_, i), row(z_.own, i), d_);
      p_.blend_row(i, next / one.size, 1, z_);
      one.size = next;
    });
  }

  // Where steps do not lead, as the sample hardly determines a fit.
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
  const int64_t *first_, *second_;  // blocks of a pair
  bool singles_ = true;             // whether fits without one block are worked on
  bool direct_ = false;  // whether steps did not lead somewhere: such a fit is no beginning
  std::vector<Fit> fits_;
  std::vector<bool> wanted_;                     // pairs that are worked on
  std::vector<RitzDirections> directions_;       // of each block
  KnownVectors x_ = KnownVectors::room(pairs_);  // the fits
  KnownVectors p_ = KnownVectors::room(pairs_);  // directions of their steps
  KnownVectors z_ = KnownVectors::room(pairs_);
  at::Tensor left_;               // of the equations
  at::Tensor taken_;              // products of the blocks of a pair
  at::Tensor some_, some_times_;  // room for times_inverse
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
