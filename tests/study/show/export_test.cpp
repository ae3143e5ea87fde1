// Compares what other programs receive with numbers from all vectors in float64.
#include "ropewalk/study/show/export.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ropewalk/base/error.h"
#include "ropewalk/moments/files/moments_file.h"
#include "ropewalk/study/show/export_kvpress.h"
#include "ropewalk/study/show/export_q_filters.h"
#include "tests/moments/collectors/taken.h"
#include "tests/moments/files/small_config.h"
#include "tests/temporary_folder.h"

namespace ropewalk {
namespace {

constexpr int64_t kDim = 6, kLayers = 2, kBlocks = 3;
const std::vector<int64_t> kLengths{30, 3, 40, 25,
                                    7};  // the second has no token past the first four

// [heads, tokens, d]; queries before RoPE are drawn independently of those after it.
at::Tensor vectors(int64_t document, int64_t layer, int64_t heads, bool after) {
  const auto generator = at::make_generator<at::CPUGeneratorImpl>(
      static_cast<uint64_t>(1000 * document + 100 * layer + 10 * heads + (after ? 1 : 0)));
  const at::Tensor offset = at::arange(kDim, at::kFloat) - 2;
  return at::randn({heads, kLengths[static_cast<size_t>(document)], kDim}, generator) + offset;
}

// All tokens of the chosen documents, of one head.
at::Tensor tokens(int64_t layer, int64_t head, bool after, int64_t first, int64_t without = -1) {
  std::vector<at::Tensor> all;
  for (int64_t i = 0; i < 5; ++i) {
    if (i % kBlocks == without) continue;
    all.push_back(vectors(i, layer, 4, after)[head].slice(0, first).to(at::kDouble));
  }
  return at::cat(all);
}

Json config_of() {
  return {
      {"layers", kLayers},
      {"n_q_heads", 4},
      {"n_kv_heads", 2},
      {"head_dim", kDim},
      {"nope_layers", Json::array()},
      {"rope",
       Json::array(
           {{{"type", "default"}, {"theta", 1e4}, {"rotary_dim", kDim}, {"interleaved", false}}})}};
}

struct Captured {
  explicit Captured(const std::vector<QueryHead>& heads, bool pre_rope = true) {
    ModelConfig model = small_config(kLayers, kDim);
    model.ropes.emplace_back().rotary_dim = kDim;
    MomentsCollector collector(model, heads, {.blocks = kBlocks, .keep = {.pre_rope = pre_rope}});
    std::vector<DocumentRecord> records;
    for (int64_t i = 0; i < 5; ++i) {
      Document document;
      document.index = i;
      document.tokens.assign(static_cast<size_t>(kLengths[static_cast<size_t>(i)]), 1);
      records.push_back({i, static_cast<uint64_t>(i), 1});
      const Positions positions = Positions::counted(kLengths[static_cast<size_t>(i)]);
      for (const auto& [layer, streams] : collector.streams()) {
        const auto q = [&](bool after) { return vectors(i, layer, 4, after); };
        const at::Tensor k = vectors(i, layer, 2, true);
        if (pre_rope) {
          collector.on_vectors(
              {layer, &document, &positions, kPreRope, {{"q", q(false)}, {"k", k}}});
        }
        collector.on_vectors(taken(layer, document, positions, q(true), k));
      }
    }
    CaptureInfo info;
    info.point = kPostRope;
    info.context = 40;
    info.model = "small";
    info.corpus = "0123456789abcdef0123";
    info.config = config_of();
    info.accumulators = kept_records(collector.shape());
    write_moments(folder.path() / kMomentsName, collector, info, records);
    moments = read_moments(folder.path() / kMomentsName);
  }

  ExportSource source() const { return {"file", moments, capture_facts(moments.info, "file")}; }

  // Changes one value of its model's description.
  void describe(const char* key, const Json& value) {
    Json described = moments.info.config.json();
    described[key] = value;
    moments.info.config = described;
  }

  TemporaryFolder folder;
  CaptureMoments moments;
};

std::vector<QueryHead> all_heads() {
  const std::vector<int32_t> layers{0, 1};
  return head_candidates(layers, 4);
}

template <typename Work>
std::string refusal(const Work& work) {
  try {
    work();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}
bool starts(const std::string& text, const std::string& part) { return text.starts_with(part); }
bool ends(const std::string& text, const std::string& part) { return text.ends_with(part); }

// The jackknife error of a mean is known without replicates.
TEST(ExportedModel, ErrorOfAMeanIsThatOfItsBlocks) {
  const at::Tensor blocks = at::tensor({1., 2., 4., 9.}, at::kDouble).unsqueeze(1) *
                            at::tensor({3., 4.}, at::kDouble).unsqueeze(0);  // [4, 2]
  const at::Tensor mean = blocks.mean(0);
  const at::Tensor without = (blocks.sum(0) - blocks) / 3;
  const std::vector<double> sizes(4, 10);
  // Both numbers are the same four values times a factor, so their errors have the ratio of the
  // means.
  const double expected = std::sqrt((9. + 4. + 0. + 25.) / 3 / 4) / 4;
  EXPECT_NEAR(relative_error(mean, without, sizes), expected, 1e-12);
  EXPECT_TRUE(std::isnan(relative_error(mean, mean.unsqueeze(0), std::vector<double>{10})));
  EXPECT_TRUE(std::isnan(relative_error(at::zeros({2}, at::kDouble), without, sizes)));
}

TEST(ExportToKvpress, MeansAndCovariancesOfLateTokensBeforeRope) {
  const Captured captured(all_heads());
  const ExportedModel made = export_to_kvpress(captured.source());
  EXPECT_EQ(made.config, (Json{{"num_layers", 2},
                               {"num_heads", 4},
                               {"head_dim", kDim},
                               {"dataset_name", "corpus-0123456789abcdef"},
                               {"model_name", "small"},
                               {"num_samples", 5},
                               {"sample_seq_len", 40},
                               {"n_sink", 4}}));
  ASSERT_EQ(made.tensors.size(), 2);
  EXPECT_EQ(made.tensors[0].name, "query_mean");
  EXPECT_EQ(made.tensors[1].name, "query_cov");
  EXPECT_TRUE(made.warnings.empty());
  EXPECT_EQ(made.facts["tokens"], 26 + 36 + 21 + 3);
  for (int64_t layer = 0; layer < kLayers; ++layer) {
    for (int64_t head = 0; head < 4; ++head) {
      const at::Tensor x = tokens(layer, head, false, 4);
      EXPECT_TRUE(
          at::allclose(made.tensors[0].values[layer][head].to(at::kDouble), x.mean(0), 1e-6, 1e-6));
      EXPECT_TRUE(at::allclose(made.tensors[1].values[layer][head].to(at::kDouble), at::cov(x.t()),
                               1e-5, 1e-6));
      std::vector<at::Tensor> means, variances;
      std::vector<double> sizes;
      for (int64_t b = 0; b < kBlocks; ++b) {
        const at::Tensor left = tokens(layer, head, false, 4, b);
        means.push_back(left.mean(0));
        variances.push_back(left.var(0));
        sizes.push_back(static_cast<double>(x.size(0) - left.size(0)));
      }
      const Json& errors = made.facts["errors"];
      const auto at = [&](const char* name) { return errors[name][layer][head].get<double>(); };
      EXPECT_NEAR(at("query_mean"), relative_error(x.mean(0), at::stack(means), sizes), 1e-5);
      EXPECT_NEAR(at("query_variance"), relative_error(x.var(0), at::stack(variances), sizes),
                  1e-5);
    }
  }
}

TEST(ExportToKvpress, RefusesWhatItWouldRotateOtherwise) {
  Captured captured(all_heads());
  const auto refused = [&] { return refusal([&] { export_to_kvpress(captured.source()); }); };
  EXPECT_EQ(refused(), "");
  Json rope = config_of()["rope"];
  rope[0]["interleaved"] = true;
  captured.describe("rope", rope);
  EXPECT_PRED2(contains, refused(), "interleaved");
  rope[0]["interleaved"] = false;
  rope[0]["rotary_dim"] = 4;
  captured.describe("rope", rope);
  EXPECT_PRED2(contains, refused(), "partial (4 of 6 dimensions)");
  captured.describe("rope", Json::array());
  EXPECT_PRED2(contains, refused(), "no RoPE");
  captured.describe("rope", config_of()["rope"]);
  captured.describe("nope_layers", {1});
  const ExportedModel made = export_to_kvpress(captured.source());
  ASSERT_EQ(made.warnings.size(), 1);
  EXPECT_PRED2(starts, made.warnings[0], "no RoPE in layer 1,");
}

TEST(ExportToKvpress, NeedsSumsBeforeRope) {
  const Captured captured(all_heads(), false);
  EXPECT_PRED2(contains, refusal([&] { export_to_kvpress(captured.source()); }),
               "capture again without --no-pre-rope");
}

TEST(ExportToQFilters, DirectionsPointAwayFromTheMeanAndAreAveraged) {
  const Captured captured(all_heads());
  const ExportedModel made = export_to_q_filters(captured.source());
  EXPECT_EQ(made.config, (Json{{"num_layers", 2}, {"num_kv_heads", 2}, {"kv_head_dim", kDim}}));
  ASSERT_EQ(made.tensors.size(), 1);
  EXPECT_EQ(made.tensors[0].name, "q_filters");
  const auto direction = [](const at::Tensor& x) {
    const at::Tensor v = std::get<1>(at::linalg_eigh(at::mm(x.t(), x))).select(1, kDim - 1);
    return v * (v.dot(x.mean(0)).item<double>() < 0 ? 1. : -1.);
  };
  const auto filter = [&](int64_t layer, int64_t kv_head, int64_t without) {
    return (direction(tokens(layer, 2 * kv_head, true, 0, without)) +
            direction(tokens(layer, 2 * kv_head + 1, true, 0, without))) /
           2;
  };
  for (int64_t layer = 0; layer < kLayers; ++layer) {
    for (int64_t kv_head = 0; kv_head < 2; ++kv_head) {
      const at::Tensor expected = filter(layer, kv_head, -1);
      EXPECT_TRUE(at::allclose(made.tensors[0].values[layer][kv_head].to(at::kDouble), expected,
                               1e-5, 1e-6));
      EXPECT_LT(expected.dot(tokens(layer, 2 * kv_head, true, 0).mean(0)).item<double>(), 0);
      const at::Tensor without = at::stack(
          {filter(layer, kv_head, 0), filter(layer, kv_head, 1), filter(layer, kv_head, 2)});
      EXPECT_NEAR(made.facts["errors"]["q_filters"][layer][kv_head].get<double>(),
                  relative_error(expected, without, std::vector<double>{55, 10, 40}), 1e-5);
    }
  }
  EXPECT_TRUE(made.facts["weak_signs"].empty());
  EXPECT_TRUE(made.warnings.empty());
}

// Queries around zero: nothing decides in which direction they point.
TEST(ExportToQFilters, WeakSignsAreFlagged) {
  Captured captured(all_heads());
  captured.moments.streams(StreamKind::query).total.mean[5].zero_();  // layer 1, head 1
  const ExportedModel made = export_to_q_filters(captured.source());
  EXPECT_EQ(made.facts["weak_signs"], (Json{{1, 1}}));
  EXPECT_EQ(made.facts["sign_strength"][1][1], 0);
  EXPECT_GT(made.facts["sign_strength"][1][0].get<double>(), kWeakSign);
  ASSERT_EQ(made.warnings.size(), 1);
  EXPECT_PRED2(starts, made.warnings[0], "the signs of 1 of 8 query heads are weak");
}

TEST(Export, SaysWhatIsMissing) {
  const auto refused = [](const Captured& captured) {
    return refusal([&] { require_all_heads(captured.source(), "kvpress"); });
  };
  EXPECT_EQ(refused(Captured(all_heads())), "");
  EXPECT_EQ(refused(Captured({{0, 0}, {0, 1}, {0, 3}, {1, 2}})),
            "file: has 4 of the model's 8 query heads, but kvpress needs all; the first missing "
            "one is head 2 of layer 0; capture again without --heads");
  Captured sliding({{0, 0}, {0, 1}, {0, 2}, {0, 3}});
  sliding.describe("sliding_windows", {{"1", 8}});
  EXPECT_PRED2(ends, refused(sliding), "head 0 of layer 1; capture again with --sliding");
  sliding.describe("sliding_windows", {{"1", 40}});  // the whole context
  EXPECT_PRED2(ends, refused(sliding), "without --heads");
  Captured both({{0, 0}, {0, 1}});
  both.describe("sliding_windows", {{"1", 8}});
  EXPECT_PRED2(ends, refused(both), "with --sliding and without --heads");
  Captured other(all_heads());
  other.describe("layers", 1);
  EXPECT_PRED2(contains, refused(other), "contain layer 1 head 0, but the model has 1 layers");
  other.describe("layers", 3);
  other.describe("skipped_layers", {2});
  EXPECT_PRED2(contains, refused(other), "layers 2 have no self-attention");
}

}  // namespace
}  // namespace ropewalk
