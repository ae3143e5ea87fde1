#include "ropewalk/moments/vectors/token_sampler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

// Expected values are those of tests/golden/sampling_reference.py; test_sampling.py compares
// thousands more.

using Ints = std::vector<int32_t>;

TEST(TokenSampler, SeedMixesAllThree) {
  EXPECT_EQ(token_sampler_seed(0, 0, StreamKind::query), 0x65f4a1634b12b156U);
  EXPECT_EQ(token_sampler_seed(-1, 3, StreamKind::key), 0xbff9fcde329f7d27U);
}

TEST(TokenSampler, UniformBuckets) {
  const TokenSampler sampler(
      {.mode = TokenSampling::uniform, .rate = 1, .context = 64, .bucket_size = 16});
  const SampledTokens tokens = sampler.sample(3, 1, StreamKind::key, 64);
  EXPECT_EQ(tokens.positions, (Ints{22, 27, 40}));
  EXPECT_EQ(tokens.buckets, (Ints{1, 1, 2}));
}

TEST(TokenSampler, LogBucketsNeverFallBelowTheLeastWidth) {
  const TokenSampler sampler(
      {.mode = TokenSampling::log_uniform, .rate = 2, .context = 64, .bucket_size = 6});
  const SampledTokens tokens = sampler.sample(3, 1, StreamKind::query, 64);
  EXPECT_EQ(tokens.positions, (Ints{0, 2, 5, 7, 11, 25, 29, 41, 51}));
  EXPECT_EQ(tokens.buckets, (Ints{3, 3, 3, 3, 3, 4, 4, 5, 5}));
}

TEST(TokenSampler, AllKeepsEveryToken) {
  const TokenSampler sampler(
      {.mode = TokenSampling::all, .rate = 0.001, .context = 5, .bucket_size = 2});
  const SampledTokens tokens = sampler.sample(0, 0, StreamKind::query, 5);
  EXPECT_EQ(tokens.positions, (Ints{0, 1, 2, 3, 4}));
  EXPECT_EQ(tokens.buckets, (Ints{0, 0, 1, 1, 2}));
}

TEST(TokenSampler, RateOfAWholeBucketKeepsEveryToken) {
  const TokenSampler sampler(
      {.mode = TokenSampling::uniform, .rate = 99, .context = 64, .bucket_size = 4});
  EXPECT_EQ(sampler.sample(0, 0, StreamKind::query, 1000).positions.size(), 1000U);
  EXPECT_TRUE(sampler.sample(0, 0, StreamKind::query, 0).positions.empty());
}

TEST(TokenSampler, BucketSizeDefaultsToASixteenthOfTheContext) {
  EXPECT_EQ(TokenSampler({.context = 4096}).bucket_size(), 256);
  EXPECT_EQ(TokenSampler({.context = 7}).bucket_size(), 1);
}

TEST(TokenSampler, RefusesSenselessOptions) {
  EXPECT_THROW(TokenSampler({.context = 0}), UsageError);
  EXPECT_THROW(TokenSampler({.rate = 0, .context = 16}), UsageError);
  EXPECT_THROW(TokenSampler({.rate = -1, .context = 16}), UsageError);
  EXPECT_THROW(TokenSampler({.rate = std::nan(""), .context = 16}), UsageError);
  EXPECT_THROW(TokenSampler({.context = 16, .bucket_size = -1}), UsageError);
  EXPECT_THROW(TokenSampler({.context = 16, .bucket_size = int64_t{1} << 40}), UsageError);
  EXPECT_THROW(TokenSampler({.context = 16}).sample(0, 0, StreamKind::query, -1), UsageError);
}

TEST(TokenSampler, Names) {
  EXPECT_EQ(parse_token_sampling("uniform"), TokenSampling::uniform);
  EXPECT_EQ(parse_token_sampling("log-uniform"), TokenSampling::log_uniform);
  EXPECT_EQ(parse_token_sampling("all"), TokenSampling::all);
  EXPECT_THROW(parse_token_sampling("some"), UsageError);
}

}  // namespace
}  // namespace ropewalk
