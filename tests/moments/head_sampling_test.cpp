#include "ropewalk/moments/head_sampling.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

TEST(HeadSampling, CandidatesAreInOrder) {
  const std::vector<int32_t> layers = {1, 4};
  const std::vector<QueryHead> expected = {{1, 0}, {1, 1}, {4, 0}, {4, 1}};
  EXPECT_EQ(head_candidates(layers, 2), expected);
  EXPECT_TRUE(head_candidates({}, 2).empty());
}

TEST(HeadSampling, DrawsAsPythonDoes) {
  const std::vector<int32_t> layers = {0, 1, 2, 3, 4};
  // random.Random(0).sample(range(10), 4) == [6, 9, 0, 2]
  const SampledHeads heads = sample_heads(head_candidates(layers, 2), 4, 0);
  EXPECT_EQ(heads.drawn, (std::vector<QueryHead>{{3, 0}, {4, 1}, {0, 0}, {1, 0}}));
  EXPECT_EQ(heads.sorted, (std::vector<QueryHead>{{0, 0}, {1, 0}, {3, 0}, {4, 1}}));
}

TEST(HeadSampling, TakesAllWhereCountIsNotLess) {
  const std::vector<int32_t> layers = {2, 0};
  const auto candidates = head_candidates(layers, 1);
  for (const int64_t count : {2, 3, 1000000}) {
    const SampledHeads heads = sample_heads(candidates, count, 9);
    EXPECT_EQ(heads.drawn, candidates);
    EXPECT_EQ(heads.sorted, (std::vector<QueryHead>{{0, 0}, {2, 0}}));
  }
}

TEST(HeadSampling, RefusesSenselessRequests) {
  EXPECT_THROW(sample_heads({{0, 0}}, 0, 0), UsageError);
  EXPECT_THROW(sample_heads({}, 1, 0), UsageError);
}

}  // namespace
}  // namespace ropewalk
