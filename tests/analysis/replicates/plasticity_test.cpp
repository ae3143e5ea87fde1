// Compares plasticity with loops over pairs of keys and pairs of queries.
#include "ropewalk/analysis/replicates/plasticity.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "ropewalk/analysis/statistics/series.h"
#include "ropewalk/analysis/statistics/statistic.h"
#include "ropewalk/moments/accumulators/plasticity.h"
#include "tests/analysis/replicates/stream_input.h"

namespace ropewalk {
namespace {

constexpr int64_t kDim = 5;
constexpr int64_t kContext = 160;

// Vectors, and which of them exist.
struct Sample {
  at::Tensor q, k;                // [documents, buckets, d]
  std::vector<int64_t> position;  // 0: none
  std::vector<int64_t> group;
  int64_t replicates = 0;

  int64_t documents() const { return q.size(0); }
  bool has(int64_t document, int64_t bucket) const {
    return group[static_cast<size_t>(document)] >= 0 &&
           position[static_cast<size_t>(document * kPlasticityBuckets + bucket)] > 0;
  }
  at::Tensor measure() const {
    const auto plan = std::make_shared<const PlasticityPlan>(
        plan_plasticity(position, group, replicates, kContext));
    return measure_plasticity({q, plan}, {k, plan});
  }
};

// Some documents end early, and one has no tokens.
Sample make_sample(int64_t documents, int64_t blocks, bool gaps = true) {
  Sample sample;
  sample.q = at::randn({documents, kPlasticityBuckets, kDim});
  sample.k = at::randn({documents, kPlasticityBuckets, kDim});
  sample.replicates = blocks;
  for (int64_t i = 0; i < documents; ++i) {
    sample.group.push_back(gaps && i == 4 ? -1 : blocks > 0 ? i * 7 % blocks : 0);
    for (int64_t b = 0; b < kPlasticityBuckets; ++b) {
      const bool there = !gaps || b + i % 5 * 2 < kPlasticityBuckets;
      sample.position.push_back(there ? b * 10 + 5 : 0);
      if (there) continue;
      sample.q[i][b].zero_();
      sample.k[i][b].zero_();
    }
  }
  return sample;
}

// Loops over all pairs of queries; a tie counts as half of each order. Documents of a group are
// left out.
double by_all_pairs(const Sample& sample, int64_t bucket, int64_t without) {
  double sum = 0;
  int64_t pairs = 0;
  // Indexed by the key's document and bucket, and the query's document.
  const at::Tensor logits =
      at::matmul(sample.k.to(at::kDouble), sample.q.select(1, bucket).to(at::kDouble).t());
  const auto logit = logits.accessor<double, 3>();
  for (int64_t i = 0; i < sample.documents(); ++i) {
    if (sample.group[static_cast<size_t>(i)] == without) continue;
    std::vector<int64_t> queries;
    for (int64_t other = 0; other < sample.documents(); ++other) {
      const bool left_out = sample.group[static_cast<size_t>(other)] == without;
      if (other != i && !left_out && sample.has(other, bucket)) {
        queries.push_back(other);
      }
    }
    std::vector<int64_t> keys;
    for (int64_t b = 0; b < bucket; ++b) {
      if (sample.has(i, b)) keys.push_back(b);
    }
    if (queries.size() < 2) continue;
    for (const auto& [a, b] : plasticity_pairs(i, bucket, static_cast<int64_t>(keys.size()))) {
      std::vector<double> prefers;
      for (const int64_t q : queries) {
        const double more =
            logit[i][keys[static_cast<size_t>(a)]][q] - logit[i][keys[static_cast<size_t>(b)]][q];
        prefers.push_back(more > 0 ? 1 : more < 0 ? 0 : 0.5);
      }
      double disagree = 0;
      for (size_t x = 0; x < prefers.size(); ++x) {
        for (size_t y = 0; y < prefers.size(); ++y) {
          if (x != y) disagree += prefers[x] * (1 - prefers[y]);
        }
      }
      const auto m = static_cast<double>(prefers.size());
      sum += 4 * disagree / (m * (m - 1));
      ++pairs;
    }
  }
  return pairs > 0 ? sum / static_cast<double>(pairs) : kUndefined;
}

void expect_by_all_pairs(const Sample& sample) {
  const at::Tensor found = sample.measure();
  ASSERT_EQ(found.sizes().vec(), (std::vector<int64_t>{sample.replicates + 1, 14}));
  for (int64_t row = 0; row <= sample.replicates; ++row) {
    for (int64_t bucket = 2; bucket < kPlasticityBuckets; ++bucket) {
      const double expected = by_all_pairs(sample, bucket, row == 0 ? -2 : row - 1);
      const auto value = found[row][bucket - 2].item<double>();
      EXPECT_EQ(std::isnan(value), std::isnan(expected)) << row << ' ' << bucket;
      if (!std::isnan(expected)) {
        EXPECT_NEAR(value, expected, 1e-12) << row << ' ' << bucket;
      }
    }
  }
}

TEST(Plasticity, IsThatOfAllPairsOfQueries) {
  at::manual_seed(1);
  for (const int64_t blocks : {0, 1, 2, 3, 5, 17, 40}) {
    SCOPED_TRACE(blocks);
    expect_by_all_pairs(make_sample(22, blocks));
  }
}

TEST(Plasticity, OfAFewDocumentsIsUndefinedRatherThanWrong) {
  at::manual_seed(2);
  for (const int64_t documents : {1, 2, 3, 4}) {
    SCOPED_TRACE(documents);
    const Sample sample = make_sample(documents, documents, false);
    expect_by_all_pairs(sample);
    EXPECT_EQ(sample.measure()[0].isnan().all().item<bool>(), documents < 3);
  }
  Sample empty = make_sample(3, 1, false);
  empty.position.assign(empty.position.size(), 0);
  EXPECT_TRUE(empty.measure().isnan().all().item<bool>());
}

TEST(Plasticity, ATieIsHalfOfEach) {
  at::manual_seed(3);
  Sample sample = make_sample(12, 3, false);
  sample.k.copy_(sample.k.select(1, 0).unsqueeze(1).expand_as(sample.k));  // all keys the same
  EXPECT_TRUE(sample.measure().equal(at::ones({4, 14}, at::kDouble)));
  sample = make_sample(12, 3, false);
  sample.q.select(0, 3).zero_();  // a query without preference
  sample.k.select(1, 2).copy_(sample.k.select(1, 1));
  expect_by_all_pairs(sample);
}

TEST(Plasticity, IsZeroWhereTheOrderIsFixed) {
  at::manual_seed(4);
  Sample sample = make_sample(12, 3, false);
  sample.q.select(2, 0).fill_(1000);  // one direction decides
  const at::Tensor found = sample.measure();
  EXPECT_LT(found[0].max().item<double>(), 0.05);
}

// Queries N(mean, I): q·(k_i - k_j) is above 0 with p = Phi(mean·(k_i - k_j) / |k_i - k_j|). The
// mean over many samples of few queries is E 4p(1 - p), without the bias of 4 S/m (1 - S/m), which
// is a fifth here.
TEST(Plasticity, IsUnbiased) {
  at::manual_seed(5);
  constexpr int64_t kDocuments = 6, kSamples = 3000;
  const at::Tensor mean = at::full({kDim}, 0.4);
  const at::Tensor keys = at::randn({kDocuments, kPlasticityBuckets, kDim});
  double expected = 0, sum = 0, squares = 0;
  int64_t pairs = 0;
  for (int64_t i = 0; i < kDocuments; ++i) {
    for (const auto& [a, b] : plasticity_pairs(i, 4, 4)) {
      const at::Tensor apart = keys[i][a] - keys[i][b];
      const double z = mean.dot(apart).item<double>() / apart.norm().item<double>();
      const double p = 0.5 * std::erfc(-z / std::numbers::sqrt2);
      expected += 4 * p * (1 - p);
      ++pairs;
    }
  }
  expected /= static_cast<double>(pairs);
  Sample sample = make_sample(kDocuments, 0, false);
  sample.k = keys;
  for (int64_t s = 0; s < kSamples; ++s) {
    sample.q = at::randn({kDocuments, kPlasticityBuckets, kDim}) + mean;
    const auto value = sample.measure()[0][2].item<double>();
    sum += value / kSamples;
    squares += value * value / kSamples;
  }
  const double error = std::sqrt((squares - sum * sum) / kSamples);
  EXPECT_NEAR(sum, expected, 4 * error);
  EXPECT_LT(4 * error, expected / 20) << "a fifth would be seen";
}

TEST(Plasticity, ColumnsAreMeansOfTheCurve) {
  at::manual_seed(6);
  constexpr int64_t kBlocks = 4;
  const Sample sample = make_sample(12, kBlocks);
  const auto plan = std::make_shared<const PlasticityPlan>(
      plan_plasticity(sample.position, sample.group, kBlocks, kContext));
  std::vector<at::Tensor> documents;
  for (int64_t i = 0; i < kBlocks; ++i) documents.push_back(at::randn({9, kDim}, at::kDouble));
  StreamInput q = stream_input(documents), k = stream_input(documents);
  const auto numbers = [&](const char* key) {
    const HeadReplicates head = make_replicates(leave_one_out(q), leave_one_out(k), 1);
    const Statistic& statistic = *statistics()[statistic_index(key)];
    return statistic.compute(head).select(1, statistic.member);
  };
  EXPECT_TRUE(numbers("ap_overall").isnan().all().item<bool>()) << "nothing was kept";
  q.parts["plasticity"] =
      std::make_shared<const PlasticitySample>(PlasticitySample{sample.q, plan});
  k.parts["plasticity"] =
      std::make_shared<const PlasticitySample>(PlasticitySample{sample.k, plan});
  const at::Tensor curve = sample.measure();
  ASSERT_FALSE(curve.isnan().any().item<bool>());
  const at::Tensor first = curve.slice(1, 0, 3).mean(1), last = curve.slice(1, 11, 14).mean(1);
  EXPECT_TRUE(at::allclose(numbers("ap_overall"), curve.mean(1)));
  EXPECT_TRUE(at::allclose(numbers("ap_first20"), first));
  EXPECT_TRUE(at::allclose(numbers("ap_last20"), last));
  EXPECT_TRUE(at::allclose(numbers("ap_drop"), first - last));

  const SeriesStatistic& series_of = *series()[series_index("plasticity")];
  const HeadReplicates head = make_replicates(leave_one_out(q), leave_one_out(k), 1);
  EXPECT_TRUE(series_of.compute(head).equal(curve));
  const std::vector<double> points = series_of.points(head);
  EXPECT_EQ(points.front(), 24.5);  // tokens 20 … 29
  EXPECT_EQ(points.back(), 154.5);
}

// Of a context of 32, two tokens per bucket, those of the first two are left out.
TEST(Plasticity, BucketsWithoutTwoEarlierKeysHaveNone) {
  at::manual_seed(7);
  Sample sample = make_sample(12, 2, false);
  for (size_t i = 0; i < sample.position.size(); i += kPlasticityBuckets) {
    sample.position[i] = sample.position[i + 1] = 0;
  }
  const at::Tensor found = sample.measure();
  EXPECT_TRUE(found.slice(1, 0, 2).isnan().all().item<bool>());
  EXPECT_FALSE(found.slice(1, 2).isnan().any().item<bool>());
  EXPECT_EQ(plan_plasticity(sample.position, sample.group, 2, 8).buckets.size(), 4)
      << "of a context of 8, every other bucket has no token";
}

}  // namespace
}  // namespace ropewalk
