#pragma once

#include <vector>

namespace ropewalk {

// The scale on which changes of a statistic are measured, so that equal changes mean the same at
// small and at large values. There is no default: every statistic names its own scale.
class ChangeScale {
 public:
  enum Kind {
    correlation,  // atanh
    r_squared,    // atanh of √; values below 0 count as 0
    share,        // arcsin of √, also for probabilities; values below 0 count as 0, above 1 as 1
    size,         // log₂; undefined for 0
    distance,     // log₂ of 1 + tokens
    plain,        // no change: logits, octaves, signed lengths
    part          // no change: shares that may be negative or above 1
  };
  constexpr ChangeScale(Kind kind)
      : kind_(kind) {}  // NOLINT: implicit, so that a statistic can be given ChangeScale::share

  double of(double value) const;  // NaN: undefined
  // The smallest change that counts, however little heads differ.
  double floor() const;
  const char* name() const;

 private:
  Kind kind_;
};

// The spread over heads, not influenced by a few extreme ones: the distance between the quartiles,
// expressed as a standard deviation of a normal distribution. Ignores NaN; NaN where no value is
// left.
double robust_spread(std::vector<double> values);

}  // namespace ropewalk
