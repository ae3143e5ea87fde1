#include <gtest/gtest.h>

#include "tests/analysis/run/simulation.h"

namespace ropewalk::simulation {
namespace {

// A short form of benchmarks/coverage.py, whose 1,000 studies per setting are the real evidence.
// With 300 studies a coverage of 0.95 is seen between 0.91 and 0.985 almost always; an error that
// is wrong by a factor of 1.5 either way is not.
TEST(Coverage, IntervalsContainTheTruthAsOftenAsTheyClaim) {
  Population first = spread_population(12, 1.0);
  Population second = spread_population(12, 1.1);
  for (const auto& [name, value] : measure_coverage(first, second, 16, 300, 7)) {
    EXPECT_GE(value, 0.88) << name;
    // Twelve heads make the fraction coarse, which widens its interval.
    EXPECT_LE(value, name == "class_fraction" ? 1 : 0.985) << name;
  }
}

}  // namespace
}  // namespace ropewalk::simulation
