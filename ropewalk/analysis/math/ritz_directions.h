#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ropewalk {

// Directions along which a matrix B is much smaller than A. Conjugate gradients for B that go by
// A⁻¹ come across them: what is left after each step, scaled, are Lanczos' vectors. Another matrix
// that is as small there is solved in fewer steps with these directions put right.
class RitzDirections {
 public:
  // A step of the solution for B, from what is left, r, with z = A⁻¹r and size = rᵀz; `length`: of
  // the step, over its direction. Those after one that led nowhere, or after kMost, are left out.
  void add_step(const double* r, const double* z, double size, double length, int64_t d);

  // Finds the directions of each, once all steps are added.
  static void find(std::span<RitzDirections> all, int64_t d);

  // Along the directions found, makes of z = A⁻¹r what B⁻¹r is, and of `total` = r what A times
  // that is.
  void correct(const double* r, double* z, double* total, int64_t d) const;

  int64_t count() const { return static_cast<int64_t>(more_.size()); }

 private:
  static constexpr int64_t kMost = 24;

  int64_t steps() const { return static_cast<int64_t>(lengths_.size()); }
  void keep(const double* values, const double* vectors, int64_t stride, int64_t d);

  bool ended_ = false;
  std::vector<double> lengths_, sizes_;
  std::vector<double> z_, r_;            // [steps, d]: Lanczos' vectors, and A times them
  std::vector<double> more_;             // of B⁻¹ than of A⁻¹ along a direction
  std::vector<double> vectors_, total_;  // [directions, d], and A times them
};

}  // namespace ropewalk
