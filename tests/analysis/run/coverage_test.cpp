#include <gtest/gtest.h>

#include "tests/analysis/run/simulation.h"

namespace ropewalk::simulation {
namespace {

// A short form of benchmarks/coverage.py, whose 1,000 studies per setting are the real evidence.
// With 300 studies, a true coverage of 0.95 almost always shows as 0.91 to 0.985; with an error
// that is wrong by a factor of 1.5 it does not.
TEST(Coverage, IntervalsContainTheTruthAsOftenAsTheyClaim) {
  Population first = spread_population(12, 1.0);
  Population second = spread_population(12, 1.1);
  for (const auto& [name, value] : measure_coverage(first, second, 16, 300, 7)) {
    EXPECT_GE(value, 0.88) << name;
    // With twelve heads the fraction takes few values, which widens its interval.
    EXPECT_LE(value, name == "class_fraction" ? 1 : 0.985) << name;
  }
}

}  // namespace
}  // namespace ropewalk::simulation
