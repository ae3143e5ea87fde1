#include "ropewalk/analysis/math/ritz_directions.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numeric>

namespace ropewalk {
namespace {

constexpr int64_t kDim = 20;
using Vector = std::array<double, kDim>;

double product(const Vector& a, const Vector& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// The steps for a diagonal B, with A twice the identity.
RitzDirections steps_for(const Vector& b) {
  RitzDirections found;
  Vector r, z, p{};
  r.fill(1);
  double before = 1;
  for (int step = 0; step < 12; ++step) {
    for (size_t i = 0; i < kDim; ++i) z[i] = r[i] / 2;
    const double size = product(r, z);
    if (size < 1e-20) break;
    Vector image;
    for (size_t i = 0; i < kDim; ++i) {
      p[i] = z[i] + (step == 0 ? 0 : size / before) * p[i];
      image[i] = b[i] * p[i];
    }
    const double length = size / product(p, image);
    found.add_step(r.data(), z.data(), size, length, kDim);
    for (size_t i = 0; i < kDim; ++i) r[i] -= length * image[i];
    before = size;
  }
  return found;
}

TEST(RitzDirections, AreWhereAMatrixIsSmall) {
  Vector b;
  for (size_t i = 0; i < kDim; ++i) b[i] = 1.6 + 0.08 * static_cast<double>(i % 5);
  b[3] = 0.2, b[7] = 0.5;
  std::array<RitzDirections, 2> all{steps_for(b), {}};
  RitzDirections::compute_all(all, kDim);
  EXPECT_EQ(all[0].count(), 2);
  EXPECT_EQ(all[1].count(), 0);
  Vector r, z, total;
  for (size_t i = 0; i < kDim; ++i) r[i] = std::cos(static_cast<double>(i)), z[i] = r[i] / 2;
  total = r;
  all[0].correct(r.data(), z.data(), total.data(), kDim);
  for (size_t i = 0; i < kDim; ++i) {
    const bool small = i == 3 || i == 7;
    EXPECT_NEAR(z[i], r[i] / (small ? b[i] : 2), 1e-6) << i;
    EXPECT_NEAR(total[i], 2 * z[i], 1e-12) << i;
  }
}

TEST(RitzDirections, AreNoneAfterFewSteps) {
  Vector b;
  b.fill(1.8);
  b[3] = 0.2;
  std::array<RitzDirections, 1> all{steps_for(b)};
  RitzDirections::compute_all(all, kDim);
  EXPECT_EQ(all[0].count(), 0);
}

}  // namespace
}  // namespace ropewalk
