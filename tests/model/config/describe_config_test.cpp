#include "ropewalk/model/config/describe_config.h"

#include <gtest/gtest.h>

#include <functional>

#include "ropewalk/model/config/config.h"

namespace ropewalk {
namespace {

ModelConfig example() {
  ModelConfig config;
  config.architecture = "llama";
  config.ropes = {{}, {}};
  config.layers = {{}, {}};
  return config;
}

// The description contains every setting: changing a setting changes it.
TEST(DescribeConfig, HoldsEverySetting) {
  const std::vector<std::function<void(ModelConfig&)>> edits{
      [](ModelConfig& c) { c.architecture = "qwen2"; },
      [](ModelConfig& c) { c.n_layers = 9; },
      [](ModelConfig& c) { c.n_q_heads = 9; },
      [](ModelConfig& c) { c.n_kv_heads = 9; },
      [](ModelConfig& c) { c.d_model = 9; },
      [](ModelConfig& c) { c.d_head = 9; },
      [](ModelConfig& c) { c.d_mlp = 9; },
      [](ModelConfig& c) { c.norm = NormKind::layer; },
      [](ModelConfig& c) { c.norm = NormKind::rms_plus_one; },
      [](ModelConfig& c) { c.norm = NormKind::layer_without_bias; },
      [](ModelConfig& c) { c.norm = NormKind::bare_layer; },
      [](ModelConfig& c) { c.norm_eps = 9; },
      [](ModelConfig& c) { c.qk_norm = QkNorm::per_head; },
      [](ModelConfig& c) { c.qk_norm = QkNorm::whole_projection; },
      [](ModelConfig& c) { c.activation = Activation::gelu; },
      [](ModelConfig& c) { c.activation = Activation::gelu_tanh; },
      [](ModelConfig& c) { c.activation = Activation::xielu; },
      [](ModelConfig& c) { c.qkv_bias = true; },
      [](ModelConfig& c) { c.out_bias = true; },
      [](ModelConfig& c) { c.mlp_bias = true; },
      [](ModelConfig& c) { c.parallel_residual = true; },
      [](ModelConfig& c) { c.attention_scale = 9; },
      [](ModelConfig& c) { c.embedding_scale = 9; },
      [](ModelConfig& c) { c.gated = false; },
      [](ModelConfig& c) { c.residual_scale = 9; },
      [](ModelConfig& c) { c.clip_qkv = 9; },
      [](ModelConfig& c) { c.score_cap = 9; },
      [](ModelConfig& c) { c.alibi = true; },
      [](ModelConfig& c) { c.sinks = true; },
      [](ModelConfig& c) {
        c.cut_gate = {1.7, 7};
      },
      [](ModelConfig& c) {
        c.mixture = {8, 2, 16, ExpertShare::of_all};
      },
      [](ModelConfig& c) { c.layers[1].mixture = true; },
      [](ModelConfig& c) {
        c.query_scaling = {0.1, 64};
      },
      [](ModelConfig& c) { c.layers[1].self_attention = false; },
      [](ModelConfig& c) { c.layers[1].rope = false; },
      [](ModelConfig& c) { c.layers[1].rope_index = 1; },
      [](ModelConfig& c) { c.layers[1].window = 9; },
      [](ModelConfig& c) { c.layers[1].attention_scale = 9; },
      [](ModelConfig& c) { c.ropes[0].type = RopeType::linear; },
      [](ModelConfig& c) { c.ropes[0].theta = 9; },
      [](ModelConfig& c) { c.ropes[0].rotary_dim = 9; },
      [](ModelConfig& c) { c.ropes[0].interleaved = true; },
  };
  const Json plain = deciding_config(describe_config(example()), 64, false);
  for (size_t i = 0; i < edits.size(); ++i) {
    ModelConfig changed = example();
    edits[i](changed);
    EXPECT_NE(deciding_config(describe_config(changed), 64, false), plain) << "edit " << i;
  }
}

TEST(DescribeConfig, HoldsWhatEachKindOfRopeUses) {
  const auto edit = [](RopeType type, const std::function<void(RopeSettings&)>& change) {
    ModelConfig before = example();
    before.ropes[0].type = type;
    ModelConfig after = before;
    change(after.ropes[0]);
    return describe_config(before) != describe_config(after);
  };
  using Change = std::function<void(RopeSettings&)>;
  const Change factor = [](RopeSettings& r) { r.factor = 9; };
  const Change original = [](RopeSettings& r) { r.original_context = 9; };
  const Change positions = [](RopeSettings& r) { r.max_positions = 9; };
  for (const RopeType type : {RopeType::linear, RopeType::dynamic, RopeType::llama3, RopeType::yarn,
                              RopeType::longrope}) {
    EXPECT_TRUE(edit(type, factor));
  }
  EXPECT_FALSE(edit(RopeType::standard, factor));
  EXPECT_TRUE(edit(RopeType::dynamic, positions));
  EXPECT_FALSE(edit(RopeType::yarn, positions));
  for (const RopeType type : {RopeType::llama3, RopeType::yarn, RopeType::longrope}) {
    EXPECT_TRUE(edit(type, original));
  }
  for (const Change& change : {Change([](RopeSettings& r) { r.short_factors = {9}; }),
                               Change([](RopeSettings& r) { r.long_factors = {9}; }),
                               Change([](RopeSettings& r) { r.attention_factor = 9; })}) {
    EXPECT_TRUE(edit(RopeType::longrope, change));
    EXPECT_FALSE(edit(RopeType::standard, change));
  }
  for (const Change& change : {Change([](RopeSettings& r) { r.low_freq_factor = 9; }),
                               Change([](RopeSettings& r) { r.high_freq_factor = 9; })}) {
    EXPECT_TRUE(edit(RopeType::llama3, change));
    EXPECT_FALSE(edit(RopeType::yarn, change));
  }
  for (const Change& change : {Change([](RopeSettings& r) { r.beta_fast = 9; }),
                               Change([](RopeSettings& r) { r.beta_slow = 9; }),
                               Change([](RopeSettings& r) { r.truncate = false; }),
                               Change([](RopeSettings& r) { r.attention_factor = 9; }),
                               Change([](RopeSettings& r) { r.mscale = 9; }),
                               Change([](RopeSettings& r) { r.mscale_all_dim = 9; })}) {
    EXPECT_TRUE(edit(RopeType::yarn, change));
    EXPECT_FALSE(edit(RopeType::llama3, change));
  }
}

}  // namespace
}  // namespace ropewalk
