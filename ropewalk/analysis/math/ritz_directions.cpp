#include "ropewalk/analysis/math/ritz_directions.h"

#include <algorithm>
#include <cmath>

#include "ropewalk/kernels/moments/rows.h"
#include "ropewalk/kernels/torch.h"

namespace ropewalk {
namespace {

// largest ratio of B to A along directions that are worth a correction
constexpr double kSmall = 0.7;
constexpr int64_t kFewSteps = 4;  // solutions with so few steps need no correction

void add_scaled(std::vector<double>& rows, const double* x, double scale, int64_t d) {
  const auto end = static_cast<std::ptrdiff_t>(rows.size());
  rows.insert(rows.end(), x, x + d);
  std::for_each(rows.begin() + end, rows.end(), [&](double& one) { one *= scale; });
}

}  // namespace

void RitzDirections::add_step(const double* r, const double* z, double size, double length,
                              int64_t d) {
  ended_ = ended_ || !(length > 0) || !(size > 0) || steps() == kMost;
  if (ended_) return;
  lengths_.push_back(length);
  sizes_.push_back(size);
  add_scaled(z_, z, 1 / std::sqrt(size), d);
  add_scaled(r_, r, 1 / std::sqrt(size), d);
}

void RitzDirections::compute_all(std::span<RitzDirections> all, int64_t d) {
  int64_t most = 0;
  for (const RitzDirections& one : all) most = std::max(most, one.steps());
  if (most <= kFewSteps) return;
  // B in the basis of the Lanczos vectors, which are orthonormal with respect to A: tridiagonal.
  // Unused rows are filled with the identity.
  const auto count = static_cast<int64_t>(all.size());
  at::Tensor between = at::eye(most, at::kDouble).repeat({count, 1, 1});
  double* matrix = between.mutable_data_ptr<double>();
  for (const RitzDirections& one : all) {
    for (int64_t i = 0; i < one.steps(); ++i) {
      const auto at = static_cast<size_t>(i);
      matrix[i * most + i] += 1 / one.lengths_[at] - 1;
      if (i + 1 == one.steps()) continue;
      const double ratio = one.sizes_[at + 1] / one.sizes_[at];
      matrix[(i + 1) * most + i + 1] += ratio / one.lengths_[at];
      matrix[i * most + i + 1] = matrix[(i + 1) * most + i] = -std::sqrt(ratio) / one.lengths_[at];
    }
    matrix += most * most;
  }
  const auto [values, vectors] = at::linalg_eigh(between);
  const at::Tensor value = values.contiguous(), rows = vectors.transpose(1, 2).contiguous();
  for (int64_t i = 0; i < count; ++i) {
    all[static_cast<size_t>(i)].keep(value.const_data_ptr<double>() + i * most,
                                     rows.const_data_ptr<double>() + i * most * most, most, d);
  }
}

void RitzDirections::keep(const double* values, const double* vectors, int64_t stride, int64_t d) {
  for (int64_t j = 0; j < stride && values[j] < kSmall; ++j, vectors += stride) {
    if (!(values[j] > 0)) continue;
    more_.push_back(1 / values[j] - 1);
    vectors_.resize(vectors_.size() + static_cast<size_t>(d));
    total_.resize(vectors_.size());
    double* const vector = vectors_.data() + (count() - 1) * d;
    double* const total = total_.data() + (count() - 1) * d;
    for (int64_t i = 0; i < steps(); ++i) {
      blend(vector, 1, vectors[i], z_.data() + i * d, d);
      blend(total, 1, vectors[i], r_.data() + i * d, d);
    }
  }
}

void RitzDirections::correct(const double* r, double* z, double* total, int64_t d) const {
  for (int64_t j = 0; j < count(); ++j) {
    const double* const vector = vectors_.data() + j * d;
    const double along = more_[static_cast<size_t>(j)] * dot(vector, r, d);
    blend(z, 1, along, vector, d);
    blend(total, 1, along, total_.data() + j * d, d);
  }
}

}  // namespace ropewalk
