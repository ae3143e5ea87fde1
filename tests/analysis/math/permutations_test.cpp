#include "ropewalk/analysis/math/permutations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace ropewalk {
namespace {

TEST(Ranks, EqualValuesShareTheirMean) {
  EXPECT_EQ(ranks_of({3, 1, 3, 2}), (std::vector<double>{3.5, 1, 3.5, 2}));
  EXPECT_TRUE(ranks_of({}).empty());
}

// Of two groups of three, all 36 ways to deal y can be counted by hand.
TEST(GroupedAssociation, IsTheShareOfDealsAsFarFromTheMean) {
  const GroupedAssociation found =
      grouped_association({0, 0, 0, 1, 1, 1}, {1, 0, 0, 1, 0, 0}, {1, 0, 0, 1, 0, 0}, 200000);
  EXPECT_EQ(found.sum, 2);
  EXPECT_NEAR(found.expected, 2.0 / 3, 1e-12);
  EXPECT_NEAR(found.p, 1.0 / 9, 0.003) << "both hit, each with 1 of 3";
}

TEST(GroupedAssociation, DiffersByGroupsAloneIsNothing) {
  const std::vector<double> group_alone{1, 1, 1, 0, 0, 0};
  const GroupedAssociation found =
      grouped_association({0, 0, 0, 1, 1, 1}, group_alone, group_alone);
  EXPECT_EQ(found.sum, 3);
  EXPECT_EQ(found.expected, 3);
  EXPECT_TRUE(std::isnan(found.p)) << "dealing changes nothing";
}

// P of at least `both` of `in_role` things in a class of `in_class` among `all` (one side of
// Fisher's exact test).
double fisher(int all, int in_class, int in_role, int both) {
  const auto choose = [](int n, int k) {
    return k < 0 || k > n ? -INFINITY
                          : std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1);
  };
  double p = 0;
  for (int k = both; k <= std::min(in_class, in_role); ++k) {
    p += std::exp(choose(in_class, k) + choose(all - in_class, in_role - k) - choose(all, in_role));
  }
  return p;
}

// Class and role hang on the layer alone; heads within a layer have nothing to do with each other.
TEST(GroupedAssociation, HoldsItsLevelWhereFishersTestDoesNot) {
  constexpr int kRuns = 300, kLayers = 12, kHeads = 9;
  std::mt19937 random(7);
  std::uniform_real_distribution<double> uniform;
  int mine = 0, theirs = 0, open = 0;
  for (int run = 0; run < kRuns; ++run) {
    std::vector<int64_t> layers;
    std::vector<double> x, y;
    for (int layer = 0; layer < kLayers; ++layer) {
      const double deep = layer < kLayers / 2 ? 0.7 : 0.1;
      for (int head = 0; head < kHeads; ++head) {
        layers.push_back(layer);
        x.push_back(uniform(random) < deep ? 1 : 0);
        y.push_back(uniform(random) < deep ? 1 : 0);
      }
    }
    const GroupedAssociation found = grouped_association(layers, x, y, 399);
    if (std::isnan(found.p)) continue;
    ++open;
    const auto count = [](const std::vector<double>& of) {
      return static_cast<int>(std::count(of.begin(), of.end(), 1.0));
    };
    if (found.p <= 0.05) ++mine;
    if (fisher(kLayers * kHeads, count(x), count(y), static_cast<int>(found.sum)) <= 0.025) {
      ++theirs;
    }
  }
  EXPECT_EQ(open, kRuns);
  EXPECT_LT(mine, 0.05 * kRuns + 3 * std::sqrt(0.05 * kRuns));
  EXPECT_GT(theirs, 0.8 * kRuns) << "it takes what layers share for an association";
}

TEST(GroupedAssociation, FindsWhatGoesTogetherWithinGroups) {
  std::mt19937 random(8);
  std::normal_distribution<double> normal;
  std::vector<int64_t> layers;
  std::vector<double> x, y;
  for (int i = 0; i < 60; ++i) {
    layers.push_back(i / 6);
    x.push_back(normal(random));
    y.push_back(x.back() + normal(random) - i / 6);
  }
  EXPECT_LT(grouped_association(layers, ranks_of(x), ranks_of(y)).p, 0.002);
}

}  // namespace
}  // namespace ropewalk
