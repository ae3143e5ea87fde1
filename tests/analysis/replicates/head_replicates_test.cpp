#include "ropewalk/analysis/replicates/head_replicates.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ropewalk/analysis/analyze/analyze_capture.h"
#include "ropewalk/base/error.h"
#include "ropewalk/moments/collectors/moments_collector.h"
#include "ropewalk/moments/files/moments_file.h"
#include "tests/analysis/replicates/stream_input.h"
#include "tests/moments/collectors/taken.h"

namespace ropewalk {
namespace {

constexpr int64_t kDim = 8;
constexpr int64_t kTokens = 700;  // more than a chunk, not a multiple of one

ModelConfig one_head() {
  ModelConfig config;
  config.n_layers = config.n_q_heads = config.n_kv_heads = 1;
  config.d_head = kDim;
  config.layers.resize(1);
  return config;
}

// Documents of queries and keys: [documents][tokens, d] float32.
struct Streams {
  std::vector<at::Tensor> q;
  std::vector<at::Tensor> k;
};

Streams random_streams(int documents, double mean, double spread, uint64_t seed) {
  at::manual_seed(seed);
  Streams streams;
  const at::Tensor direction = at::randn({kDim}, at::kDouble);
  const at::Tensor t = at::arange(kTokens, at::kDouble).unsqueeze(1) / kTokens - 0.5;
  const at::Tensor scales = at::pow(0.9, at::arange(kDim, at::kDouble));
  for (int i = 0; i < documents; ++i) {
    for (auto* list : {&streams.q, &streams.k}) {
      const at::Tensor x = at::randn({kTokens, kDim}, at::kDouble) * scales + 2 * t * direction;
      list->push_back((mean + spread * x).to(at::kFloat));
    }
  }
  return streams;
}

// Through the collector and a file, like a capture.
CheckpointTable run(const Streams& streams, int64_t blocks, const std::string& name) {
  const ModelConfig config_of_one = one_head();
  MomentsCollector collector(config_of_one, {{0, 0}}, {.blocks = blocks});
  std::vector<DocumentRecord> records;
  for (size_t i = 0; i < streams.q.size(); ++i) {
    Document document;
    document.index = static_cast<int64_t>(i);
    const Positions positions = Positions::counted(kTokens);
    collector.on_vectors(
        taken(0, document, positions, streams.q[i].unsqueeze(0), streams.k[i].unsqueeze(0)));
    records.push_back({document.index, i, i});
  }
  const Json config{
      {"n_q_heads", 1}, {"n_kv_heads", 1}, {"layers", 1}, {"nope_layers", Json::array()}};
  const std::filesystem::path path =
      std::filesystem::path(testing::TempDir()) / (name + ".safetensors");
  CaptureInfo info;
  info.config = config;
  write_moments(path, collector, info, records);
  const CheckpointTable analysis = analyze_capture(read_moments(path), kDim, "test");
  std::filesystem::remove(path);
  return analysis;
}

struct Row {
  double explained, r_q, r_k;
};

// Computes the expected rows in two passes in float64 over all vectors.
std::vector<Row> two_pass(const Streams& streams) {
  const at::Tensor q = at::cat(streams.q).to(at::kDouble);
  const at::Tensor k = at::cat(streams.k).to(at::kDouble);
  const at::Tensor t =
      at::arange(kTokens, at::kDouble).repeat({static_cast<int64_t>(streams.q.size())});
  const at::Tensor all = at::cat({q, k});
  const at::Tensor centred = all - all.mean(0);
  const at::Tensor covariance = at::mm(centred.t(), centred) / static_cast<double>(all.size(0) - 1);
  auto [values, vectors] = at::linalg_eigh(covariance);
  const auto correlation = [&](const at::Tensor& x, const at::Tensor& v) {
    const at::Tensor p = at::mv(x - x.mean(0), v);
    const at::Tensor s = t - t.mean();
    return (p.dot(s) / (p.dot(p) * s.dot(s)).sqrt()).item<double>();
  };
  std::vector<Row> rows;
  for (int64_t c = kDim - 1; c >= 0; --c) {
    const at::Tensor v = vectors.select(1, c);
    Row row{(values[c] / values.sum()).item<double>(), correlation(q, v), correlation(k, v)};
    const double decides = std::abs(row.r_q) >= kSignSwitch ? row.r_q : row.r_k;
    if (decides < 0) {
      row.r_q = -row.r_q;
      row.r_k = -row.r_k;
    }
    rows.push_back(row);
  }
  return rows;
}

void expect_agreement(const Streams& streams, double tolerance, const std::string& name) {
  const CheckpointTable components = run(streams, 4, name);
  const std::vector<Row> expected = two_pass(streams);
  for (size_t c = 0; c < expected.size(); ++c) {
    EXPECT_NEAR(components.column("r_q").value[c], expected[c].r_q, tolerance)
        << name << " pc " << c;
    EXPECT_NEAR(components.column("r_k").value[c], expected[c].r_k, tolerance)
        << name << " pc " << c;
    EXPECT_NEAR(components.column("explained_variance").value[c] / expected[c].explained, 1,
                tolerance)
        << name << " pc " << c;
    EXPECT_FALSE(std::isnan(components.column("r_q").se[c]));
  }
}

TEST(HostileStreams, MeansFarLargerThanTheSpread) {
  expect_agreement(random_streams(8, 0, 1, 1), 1e-5, "plain");
  expect_agreement(random_streams(8, 100, 1, 2), 1e-5, "mean 100");
  expect_agreement(random_streams(8, 10000, 1, 3), 1e-5, "mean 10000");
}

TEST(HostileStreams, ValuesNearTheLimits) {
  expect_agreement(random_streams(8, 0, 6000, 4), 1e-5, "near fp16's limit");
  expect_agreement(random_streams(8, 0, 1e-15, 5), 1e-5, "tiny");
  Streams streams = random_streams(8, 0, 1e37, 6);
  try {
    run(streams, 4, "overflow");
    FAIL() << "squares of 1e37 do not fit float32";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("layer 0, head 0, document 0"), std::string::npos)
        << error.what();
    EXPECT_NE(std::string(error.what()).find("overflow"), std::string::npos);
  }
  streams = random_streams(2, 0, 1, 6);
  streams.k[1][5][2] = NAN;
  EXPECT_THROW(run(streams, 4, "nan"), InputError);
}

TEST(HostileStreams, ConstantDimensionsAndLowRank) {
  Streams streams = random_streams(8, 0, 1, 7);
  for (auto* list : {&streams.q, &streams.k}) {
    for (at::Tensor& x : *list) x.slice(1, 3).fill_(2.5);  // only three dimensions vary
  }
  const CheckpointTable components = run(streams, 4, "constant");
  const std::vector<Row> expected = two_pass(streams);
  for (size_t c = 0; c < 3; ++c)
    EXPECT_NEAR(components.column("r_q").value[c], expected[c].r_q, 1e-5);
  for (size_t c = 3; c < kDim; ++c) {
    EXPECT_TRUE(std::isnan(components.column("r_q").value[c]));
    EXPECT_NE(components.flag[c].find("rank"), std::string::npos) << components.flag[c];
  }

  // Rank 1: all vectors lie along one direction and grow with position.
  const at::Tensor t = at::arange(kTokens, at::kFloat).unsqueeze(1);
  for (auto* list : {&streams.q, &streams.k}) {
    for (at::Tensor& x : *list) x = t * at::ones({1, kDim});
  }
  const CheckpointTable line = run(streams, 4, "rank1");
  EXPECT_NEAR(line.column("r_q").value[0], 1, 1e-5);
  EXPECT_NEAR(line.column("explained_variance").value[0], 1, 1e-5);
  EXPECT_TRUE(std::isnan(line.column("r_q").value[1]));
}

// R² also depends on directions of small variance, which float32 products blur (docs/method.md).
TEST(HostileStreams, VariancesOfVeryDifferentSize) {
  Streams streams = random_streams(4, 0, 1, 11);
  for (at::Tensor& x : streams.q) x = x * at::pow(10, -at::arange(kDim, at::kFloat) / 2.5);
  const at::Tensor x = at::cat(streams.q).to(at::kDouble);
  const at::Tensor t = at::arange(kTokens, at::kDouble).repeat(4);
  const at::Tensor centred = x - x.mean(0), times = t - t.mean();
  const at::Tensor products = centred.t().mm(centred), position = centred.t().mv(times);
  const double r2 =
      (position.dot(at::linalg_solve(products, position)) / times.square().sum()).item<double>();
  const at::Tensor values = std::get<0>(at::linalg_eigh(products));
  const double condition = (values[-1] / values[0]).item<double>();
  ASSERT_GT(condition, 1e5);
  const CheckpointTable found = run(streams, 4, "ill-conditioned");
  EXPECT_NEAR(found.column("r2_q").value[0] / r2, 1, 1e-9 * condition);
}

TEST(HostileStreams, NothingVaries) {
  Streams streams = random_streams(3, 0, 1, 8);
  for (auto* list : {&streams.q, &streams.k}) {
    for (at::Tensor& x : *list) x.fill_(1.25);
  }
  const CheckpointTable components = run(streams, 4, "still");
  EXPECT_NE(components.head_flag[0].find("no_variance"), std::string::npos);
  for (size_t c = 0; c < kDim; ++c) {
    EXPECT_TRUE(std::isnan(components.column("r_q").value[c]));
    EXPECT_NE(components.flag[c].find("no_variance"), std::string::npos);
  }
  // Only the keys are constant.
  streams = random_streams(3, 0, 1, 9);
  for (at::Tensor& x : streams.k) x.fill_(1.25);
  const CheckpointTable keys = run(streams, 4, "still keys");
  EXPECT_FALSE(std::isnan(keys.column("r_q").value[0]));
  EXPECT_TRUE(std::isnan(keys.column("r_k").value[0]));
  EXPECT_NE(keys.flag[0].find("constant_k"), std::string::npos);
  // The flags of the head's row also say why numbers of keys are missing.
  EXPECT_TRUE(std::isnan(keys.column("r2_k").value[0]));
  const auto has = [](const CheckpointTable& of, const char* flag) {
    return (";" + of.head_flag[0] + ";").find(std::string(";") + flag + ";") != std::string::npos;
  };
  EXPECT_TRUE(has(keys, "rank") && has(keys, "constant_k") && !has(keys, "constant_q"));
  // Both are constant, at different values that float32 does not hold exactly.
  for (at::Tensor& x : streams.q) x.zero_();
  for (at::Tensor& x : streams.k) x.fill_(0.1);
  const CheckpointTable both = run(streams, 4, "still apart");
  EXPECT_TRUE(has(both, "rank") && has(both, "constant_k") && has(both, "constant_q"))
      << both.head_flag[0];
}

TEST(HostileStreams, FewAndEqualDocuments) {
  const Streams one = random_streams(1, 0, 1, 10);
  const CheckpointTable single = run(one, 4, "single");
  EXPECT_FALSE(std::isnan(single.column("r_q").value[0]));
  EXPECT_TRUE(std::isnan(single.column("r_q").se[0]));
  EXPECT_TRUE(std::isnan(single.column("pc0_stability").value[0]));
  EXPECT_EQ(single.flag[0], "no_se");

  Streams copies;
  for (int i = 0; i < 8; ++i) {
    copies.q.push_back(one.q[0]);
    copies.k.push_back(one.k[0]);
  }
  const CheckpointTable equal = run(copies, 8, "copies");
  EXPECT_NEAR(equal.column("r_q").value[0], single.column("r_q").value[0], 1e-6);
  EXPECT_NEAR(equal.column("r_q").se[0], 0, 1e-6);
  EXPECT_EQ(equal.flag[0], "");
  EXPECT_NEAR(equal.column("pc0_stability").value[0], 1, 1e-9);
}

// Images of keys are computed as the pooled images less those of queries, unless that difference is
// small.
TEST(HeadReplicates, ImagesAreProductsTimesTheAxes) {
  constexpr int64_t kWide = 48, kBlocks = 6;
  for (const double of_keys : {1.0, 0.1, 1e-3, 30.0}) {
    at::manual_seed(7);
    const at::Tensor scales = at::pow(0.8, at::arange(kWide, at::kDouble));
    std::vector<at::Tensor> q, k;
    for (int64_t i = 0; i < kBlocks; ++i) {
      q.push_back(at::randn({200, kWide}, at::kDouble) * scales + 0.3);
      k.push_back(at::randn({200, kWide}, at::kDouble) * scales.flip(0) * of_keys);
    }
    const HeadReplicates head =
        make_replicates(leave_one_out(stream_input(q)), leave_one_out(stream_input(k)), 10, {});
    const auto expect_image = [&](const at::Tensor& image, const StreamReplicates& stream) {
      const at::Tensor expected = at::bmm(stream.products, head.leading);
      const at::Tensor squares = (expected * head.leading).sum(1);
      const at::Tensor found = (image * head.leading).sum(1);
      EXPECT_LT(((found - squares) / squares).abs().max().item<double>(), 1e-8) << of_keys;
      EXPECT_LT((image - expected).norm().item<double>(),
                1e-9 * head.queries.products.norm().item<double>())
          << of_keys;
    };
    expect_image(head.q_image, head.queries);
    expect_image(head.k_image, head.keys);
  }
}

}  // namespace
}  // namespace ropewalk
