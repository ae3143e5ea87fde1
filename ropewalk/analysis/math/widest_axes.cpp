#include "ropewalk/analysis/math/widest_axes.h"

#include <algorithm>
#include <vector>

#include "ropewalk/analysis/math/tensor_rows.h"
#include "ropewalk/analysis/math/tridiagonal_top.h"
#include "ropewalk/analysis/math/updated_axis.h"

namespace ropewalk {
namespace {

constexpr int64_t kSmall = 32;  // up to so many dimensions the reduction saves nothing

WidestAxesInput cases_of(const WidestAxesInput& all, const at::Tensor& which) {
  const auto chosen = [&](const at::Tensor& rows) { return rows.index_select(0, which); };
  return {chosen(all.covariance), chosen(all.tokens), chosen(all.offset),
          chosen(all.weight),     chosen(all.a),      all.leading};
}

// The factor from covariances over tokens - 1 to covariances over tokens.
at::Tensor over_tokens(const WidestAxesInput& problem) {
  return (problem.tokens - 1) / problem.tokens;
}

// Solves in the basis of all eigenvectors, where the covariance is diagonal and the offset between
// queries and keys is an update of rank one.
WidestAxes solve_whole(const WidestAxesInput& problem) {
  const int64_t d = problem.covariance.size(1);
  auto [values, basis] = at::linalg_eigh(problem.covariance);  // ascending
  WidestAxes axes;
  axes.values = values.slice(1, d - problem.leading).flip(1);
  axes.vectors = basis.slice(2, d - problem.leading).flip(2).transpose(1, 2);
  const at::Tensor apart = problem.offset * problem.weight.sqrt().unsqueeze(1);
  const at::Tensor turned = at::bmm(at::stack({apart, problem.a}, 1), basis);  // [replicates, 2, d]
  const at::Tensor variances = values * over_tokens(problem).unsqueeze(1);
  const UpdatedAxis within = updated_axis(variances, turned.select(1, 0), -1);
  const UpdatedAxis b = updated_axis(variances, turned.select(1, 0), 1, turned.select(1, 1));
  const at::Tensor back = at::bmm(basis, at::stack({within.vectors, b.vectors}, 2));
  axes.within = back.select(2, 0);
  axes.within_values = within.values;
  axes.b = back.select(2, 1);
  axes.b_values = b.values;
  const at::Tensor first = variances[0], z = turned[0][0], a = turned[0][1];
  axes.next_within = next_value(first, z, -1, axes.within_values[0].item<double>());
  const bool drifts = a.any().item<bool>();
  axes.next_b = next_value(first, z, 1, axes.b_values[0].item<double>(), drifts ? a : at::Tensor());
  return axes;
}

// Solves one replicate by the reduction. Returns whether it succeeded.
bool solve_reduced(const WidestAxesInput& problem, int64_t i, double over_tokens,
                   WidestAxes& axes) {
  const int64_t d = problem.covariance.size(1), leading = problem.leading;
  const double *matrix = row(problem.covariance, i), *offset = row(problem.offset, i);
  const double weight = *row(problem.weight, i) / over_tokens;
  const Tridiagonal reduced(matrix, offset, d);
  const auto top = largest_eigenpairs(reduced, leading, weight);
  if (!top) return false;
  const double* a = row(problem.a, i);
  const auto b = largest_without_direction(reduced, *top, weight, std::vector<double>(a, a + d));
  if (!b) return false;
  std::copy_n(top->values.begin(), leading, mutable_row(axes.values, i));
  const double* vector = top->vectors.data();
  for (int64_t j = 0; j < leading; ++j, vector += reduced.padded()) {
    std::copy_n(vector, d, mutable_row(axes.vectors, i) + j * d);
  }
  std::copy_n(vector, d, mutable_row(axes.within, i));
  *mutable_row(axes.within_values, i) = top->values.back() * over_tokens;
  std::copy_n(b->vector.data(), d, mutable_row(axes.b, i));
  *mutable_row(axes.b_values, i) = b->value * over_tokens;
  if (i > 0) return true;
  axes.next_within = next_value(reduced, top->values.back(), -weight, {}) * over_tokens;
  axes.next_b = next_value(reduced, b->value, weight, {a, a + d}) * over_tokens;
  return true;
}

}  // namespace

WidestAxes widest_axes(const WidestAxesInput& given) {
  const WidestAxesInput problem{given.covariance.contiguous(), given.tokens,
                                given.offset.contiguous(),     given.weight.contiguous(),
                                given.a.contiguous(),          given.leading};
  const int64_t cases = problem.covariance.size(0), d = problem.covariance.size(1);
  if (d <= kSmall || problem.leading > kMostTop) return solve_whole(problem);
  const auto room = [](at::IntArrayRef sizes) { return at::empty(sizes, at::kDouble); };
  WidestAxes axes{room({cases, problem.leading}),
                  room({cases, problem.leading, d}),
                  room({cases, d}),
                  room({cases}),
                  room({cases, d}),
                  room({cases})};
  const at::Tensor scale = over_tokens(problem).contiguous();
  std::vector<int64_t> left;
  for (int64_t i = 0; i < cases; ++i) {
    if (!solve_reduced(problem, i, *row(scale, i), axes)) left.push_back(i);
  }
  if (left.empty()) return axes;
  const at::Tensor which = at::tensor(left);
  const WidestAxes whole = solve_whole(cases_of(problem, which));
  axes.values.index_copy_(0, which, whole.values);
  axes.vectors.index_copy_(0, which, whole.vectors);
  axes.within.index_copy_(0, which, whole.within);
  axes.within_values.index_copy_(0, which, whole.within_values);
  axes.b.index_copy_(0, which, whole.b);
  axes.b_values.index_copy_(0, which, whole.b_values);
  if (left.front() > 0) return axes;
  axes.next_within = whole.next_within;
  axes.next_b = whole.next_b;
  return axes;
}

}  // namespace ropewalk
