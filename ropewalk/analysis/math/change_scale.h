#pragma once

#include <vector>

namespace ropewalk {

// What the size of a change is measured on, so that a change of 0.1 is as much of a change wherever
// it begins. It has no default: a statistic names its own.
class ChangeScale {
 public:
  enum Kind {
    correlation,  // atanh
    r_squared,    // atanh of √; below 0 as 0
    share,        // arcsin of √, also of probabilities; below 0 as 0, above 1 as 1
    size,         // log₂; of nothing undefined
    distance,     // log₂ of 1 + tokens
    plain,        // as it is: logits, octaves, signed lengths
    part          // as it is: shares that have a sign or pass 1
  };
  constexpr ChangeScale(Kind kind) : kind_(kind) {}  // NOLINT: ChangeScale::share is one

  double of(double value) const;  // NaN: undefined
  // The smallest change that counts, however little heads differ.
  double floor() const;
  const char* name() const;

 private:
  Kind kind_;
};

// How much heads differ, whatever a few of them do: the distance between the quartiles, as a
// standard deviation of a normal distribution. NaN of no values, and without those that are NaN.
double robust_spread(std::vector<double> values);

}  // namespace ropewalk
