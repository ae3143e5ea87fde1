#include "ropewalk/model/mixture.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ropewalk/model/memory_plan.h"
#include "tests/kernels/tensors.h"
#include "tests/model/tiny_checkpoint.h"

namespace ropewalk {
namespace {

constexpr int64_t kExperts = 5;
constexpr int64_t kChosen = 2;

// The tiny checkpoint with experts in place of its MLPs, as a Mixtral stores them.
class MixtureTest : public testing::Test {
 protected:
  MixtureTest() {
    tiny_.config["model_type"] = "mixtral";
    tiny_.config["num_local_experts"] = kExperts;
    tiny_.config["num_experts_per_tok"] = kChosen;
    uint64_t seed = 100;
    for (const char* layer : {"model.layers.0.", "model.layers.1.", "model.layers.2."}) {
      const std::string prefix = std::string(layer) + "block_sparse_moe.";
      const auto add = [&](const std::string& name, const std::vector<int64_t>& shape) {
        tiny_.tensors[prefix + name] = random_tensor(shape, ++seed) * 0.5;
      };
      add("gate.weight", {kExperts, 16});
      for (int64_t i = 0; i < kExperts; ++i) {
        const std::string expert = fmt::format("experts.{}.", i);
        add(expert + "w1.weight", {24, 16});
        add(expert + "w2.weight", {16, 24});
        add(expert + "w3.weight", {24, 16});
      }
    }
  }

  at::Tensor stored(const std::string& name) const {
    return tiny_.tensors.at("model.layers.0." + name).to(at::kDouble);
  }

  // The reference: token by token, in float64.
  at::Tensor plain(const at::Tensor& hidden) const {
    const at::Tensor norm = stored("post_attention_layernorm.weight");
    at::Tensor out = hidden.to(at::kDouble);
    for (int64_t t = 0; t < hidden.size(0); ++t) {
      const at::Tensor h = hidden[t].to(at::kDouble);
      const at::Tensor x = h / at::sqrt(h.square().mean() + 1e-5) * norm;
      const auto [shares, chosen] =
          at::topk(at::softmax(at::mv(stored("block_sparse_moe.gate.weight"), x), 0), kChosen);
      for (int64_t i = 0; i < kChosen; ++i) {
        const std::string expert =
            fmt::format("block_sparse_moe.experts.{}.", chosen[i].item<int64_t>());
        const at::Tensor inner = at::silu(at::mv(stored(expert + "w1.weight"), x)) *
                                 at::mv(stored(expert + "w3.weight"), x);
        out[t] += shares[i] / shares.sum() * at::mv(stored(expert + "w2.weight"), inner);
      }
    }
    return out;
  }

  TinyCheckpoint tiny_;
};

TEST_F(MixtureTest, AddsTheChosenExperts) {
  const auto opened = tiny_.open();
  const WeightReader reader = opened.reader({1});
  const LayerWeights weights = reader.load(0);
  ASSERT_EQ(weights.experts.size(), kExperts);
  std::vector<at::Tensor> documents{random_tensor({600, 16}, 1), random_tensor({7, 16}, 2)};
  const at::Tensor first = plain(documents[0]);
  const at::Tensor second = plain(documents[1]);
  std::vector<int64_t> asked;
  const auto source = [&](int64_t expert) {
    asked.push_back(expert);
    return weights.experts[static_cast<size_t>(expert)];
  };
  add_experts(opened.model.config, weights, source, documents);
  EXPECT_EQ(asked, (std::vector<int64_t>{0, 1, 2, 3, 4})) << "once, for both documents";
  EXPECT_LT((documents[0] - first).abs().max().item<double>(), 1e-4);
  EXPECT_LT((documents[1] - second).abs().max().item<double>(), 1e-4);
}

TEST_F(MixtureTest, AsksOnlyForExpertsWithTokens) {
  // Experts 1 and 3 always win, because their rows point to where all tokens are.
  at::Tensor& router = tiny_.tensors["model.layers.0.block_sparse_moe.gate.weight"];
  router = at::zeros({kExperts, 16});
  router[1] = 1;
  router[3] = 2;
  tiny_.tensors["model.layers.0.post_attention_layernorm.weight"] = at::ones({16});
  const auto opened = tiny_.open();
  const WeightReader reader = opened.reader({1});
  const LayerWeights weights = reader.load(0, /*with_experts=*/false);
  EXPECT_TRUE(weights.experts.empty());
  std::vector<at::Tensor> documents{random_tensor({9, 16}, 1).abs()};
  const at::Tensor expected = plain(documents[0]);
  std::vector<int64_t> asked;
  const auto source = [&](int64_t expert) {
    asked.push_back(expert);
    return reader.load_expert(0, expert);
  };
  add_experts(opened.model.config, weights, source, documents);
  EXPECT_EQ(asked, (std::vector<int64_t>{1, 3}));
  EXPECT_LT((documents[0] - expected).abs().max().item<double>(), 1e-5);
}

TEST_F(MixtureTest, CountsItsExperts) {
  const auto opened = tiny_.open();
  const WeightReader reader = opened.reader({1});
  const int64_t expert = 4 * 3 * 24 * 16;
  EXPECT_EQ(reader.expert_bytes(0), expert);
  EXPECT_EQ(reader.expert_bytes(1), 0) << "queries and keys need none";
  const MemoryNeeds needs = memory_needs(opened.model.config, reader, 10, 0);
  EXPECT_EQ(needs.thin_layer, needs.layer_bytes[0] - (kExperts - 1) * expert);
  EXPECT_EQ(needs.longest_hidden, 10 * (16 * 4 + 16 * 4 + kChosen * 12));
  EXPECT_EQ(4 * needed_elements(*opened.model.architecture, opened.model.config, {1}),
            needs.layer_bytes[0] + needs.layer_bytes[1]);
}

TEST_F(MixtureTest, MissingExpertsAreNamed) {
  tiny_.tensors.erase("model.layers.0.block_sparse_moe.experts.3.w2.weight");
  EXPECT_NE(tiny_.complaint().find("model.layers.0.block_sparse_moe.experts.3.w2.weight"),
            std::string::npos);
}

TEST_F(MixtureTest, RefusesSizesThatDoNotFit) {
  tiny_.config["num_experts_per_tok"] = kExperts + 1;
  EXPECT_EQ(tiny_.complaint(),
            "/config.json: key 'num_experts_per_tok': found 6, expected at most "
            "num_local_experts 5");
  tiny_.config["num_experts_per_tok"] = 1;
  tiny_.config["num_local_experts"] = int64_t{1} << 40;
  EXPECT_NE(tiny_.complaint().find("is too large"), std::string::npos);
}

TEST_F(MixtureTest, RefusesQuantizedWeights) {
  tiny_.config["quantization_config"] = {{"quant_method", "mxfp4"}};
  EXPECT_EQ(tiny_.complaint(),
            "/config.json: key 'quantization_config': the weights are quantized (mxfp4), expected "
            "float32, float16 or bfloat16; measure them with capture --backend transformers (in an "
            "experiment: backend: transformers)");
}

}  // namespace
}  // namespace ropewalk
