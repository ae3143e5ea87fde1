#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ropewalk {

// Directions along which a matrix B is much smaller than A. Conjugate gradients for B,
// preconditioned with A⁻¹, find them as a by-product: their scaled residuals are Lanczos vectors. A
// preconditioner that is corrected along these directions saves steps for other matrices that are
// small there too.
class RitzDirections {
 public:
  // Records one step of the solution for B: the residual r, z = A⁻¹r and size = rᵀz; `length` is
  // the step's length over its direction. Steps after a failed one, and steps after the first
  // kMost, are ignored.
  void add_step(const double* r, const double* z, double size, double length, int64_t d);

  // Computes the directions of all of them at once, after all steps were added to each.
  static void compute_all(std::span<RitzDirections> all, int64_t d);

  // Corrects z = A⁻¹r along the directions, so that it comes closer to B⁻¹r, and `total` = r
  // accordingly, so that it stays A times z.
  void correct(const double* r, double* z, double* total, int64_t d) const;

  int64_t count() const { return static_cast<int64_t>(more_.size()); }

 private:
  static constexpr int64_t kMost = 24;

  int64_t steps() const { return static_cast<int64_t>(lengths_.size()); }
  void keep(const double* values, const double* vectors, int64_t stride, int64_t d);

  bool ended_ = false;
  std::vector<double> lengths_, sizes_;
  std::vector<double> z_, r_;  // [steps, d]: Lanczos vectors, and A times them
  std::vector<double> more_;   // how much larger B⁻¹ is than A⁻¹ along each direction
  std::vector<double> vectors_, total_;  // [directions, d], and A times them
};

}  // namespace ropewalk
