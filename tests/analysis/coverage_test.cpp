#include <gtest/gtest.h>

#include "tests/analysis/simulation.h"

namespace ropewalk::simulation {
namespace {

// A short form of benchmarks/coverage.py, whose 2,000 studies a setting are the real evidence. With
// 300 studies a coverage of 0.95 is seen between 0.91 and 0.985 almost always; an error that is
// wrong by a factor of 1.5 either way is not.
TEST(Coverage, IntervalsContainTheTruthAsOftenAsTheyClaim) {
  Population first = spread_population(12, 1.0);
  Population second = spread_population(12, 1.1);
  const Coverage c = measure_coverage(first, second, 16, 300, 7);
  for (const auto& [name, value] : {std::pair("head_r_q", c.head_r_q),
                                    {"head_r_k", c.head_r_k},
                                    {"mean_r_q", c.mean_r_q},
                                    {"mean_r_k", c.mean_r_k},
                                    {"paired_difference", c.paired_difference},
                                    {"paired_head", c.paired_head}}) {
    EXPECT_GE(value, 0.90) << name;
    EXPECT_LE(value, 0.985) << name;
  }
  // Twelve heads make the fraction coarse, which widens its interval.
  EXPECT_GE(c.class_fraction, 0.90);
}

}  // namespace
}  // namespace ropewalk::simulation
