#include <gtest/gtest.h>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/json_reader.h"
#include "ropewalk/model/config/rope.h"

namespace ropewalk {
namespace {

RopeTraits traits() {
  RopeTraits traits;
  traits.d_head = 8;
  traits.max_positions = 4096;
  return traits;
}

RopeSettings read(const char* config, const RopeTraits& how = traits(),
                  const char* layer_type = "full_attention") {
  return read_rope(JsonReader(parse_json(config, "config.json"), "config.json"), how, layer_type);
}

std::string complaint(const char* config, const RopeTraits& how = traits()) {
  try {
    read(config, how);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(RopeSettings, TopLevelSpelling) {
  const RopeSettings rope = read(R"({"rope_theta": 5e4})");
  EXPECT_EQ(rope.type, RopeType::standard);
  EXPECT_EQ(rope.theta, 5e4);
  EXPECT_THROW(read(R"({"rope_theta": 1e40})"), InputError);
  EXPECT_EQ(rope.rotary_dim, 8);
  EXPECT_EQ(rope.max_positions, 4096);
  for (const char* key : {"rope_type", "type"}) {
    const RopeSettings scaled =
        read(fmt::format(
                 R"({{"rope_theta": 1e4, "rope_scaling": {{"{}": "linear", "factor": 2}}}})", key)
                 .c_str());
    EXPECT_EQ(scaled.type, RopeType::linear);
    EXPECT_EQ(scaled.factor, 2);
  }
}

TEST(RopeSettings, RopeParametersComeFirst) {
  const RopeSettings rope =
      read(R"({"rope_theta": 1e4, "rope_scaling": {"rope_type": "linear", "factor": 2},
               "rope_parameters": {"rope_type": "dynamic", "factor": 3, "rope_theta": 2e4}})");
  EXPECT_EQ(rope.type, RopeType::dynamic);
  EXPECT_EQ(rope.factor, 3);
  EXPECT_EQ(rope.theta, 2e4);
  EXPECT_EQ(read(R"({"rope_theta": 1e4, "rope_parameters": {"rope_type": "default"}})").theta, 1e4);
}

TEST(RopeSettings, ParametersOfALayerType) {
  const char* config = R"({"rope_parameters": {
      "full_attention": {"rope_type": "linear", "factor": 8, "rope_theta": 1e6},
      "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}}})";
  EXPECT_EQ(read(config).theta, 1e6);
  EXPECT_EQ(read(config).factor, 8);
  EXPECT_EQ(read(config, traits(), "sliding_attention").theta, 1e4);
  EXPECT_EQ(read(config, traits(), "sliding_attention").type, RopeType::standard);
}

TEST(RopeSettings, KeysOfAFamily) {
  RopeTraits neox = traits();
  neox.theta_key = "rotary_emb_base";
  neox.partial_key = "rotary_pct";
  neox.default_partial = 0.25;
  EXPECT_EQ(read(R"({"rotary_emb_base": 3e4, "rope_theta": 1e4})", neox).theta, 3e4);
  EXPECT_EQ(read(R"({"rope_theta": 1e4})", neox).theta, 1e4);
  EXPECT_EQ(read(R"({"rope_theta": 1e4})", neox).rotary_dim, 2);
  EXPECT_EQ(read(R"({"rope_theta": 1e4, "rotary_pct": 0.5})", neox).rotary_dim, 4);
  EXPECT_EQ(read(R"({"rope_parameters": {"rope_theta": 1e4, "partial_rotary_factor": 1.0}})", neox)
                .rotary_dim,
            8);
}

TEST(RopeSettings, Yarn) {
  const RopeSettings rope =
      read(R"({"rope_theta": 1e4, "rope_scaling": {"rope_type": "yarn", "factor": 4, "beta_fast": 0,
               "original_max_position_embeddings": 1024, "truncate": false, "mscale": 0,
               "attention_factor": 1.5}})");
  EXPECT_EQ(rope.type, RopeType::yarn);
  EXPECT_EQ(rope.original_context, 1024);
  EXPECT_EQ(rope.beta_fast, 32) << "0 counts as not given";
  EXPECT_EQ(rope.mscale, std::nullopt);
  EXPECT_EQ(rope.attention_factor, 1.5);
  EXPECT_FALSE(rope.truncate);
  // Without a factor, it is the ratio of the two contexts.
  EXPECT_EQ(read(R"({"rope_theta": 1e4, "rope_scaling": {"rope_type": "yarn",
                     "original_max_position_embeddings": 1024}})")
                .factor,
            4);
}

TEST(RopeSettings, NeverASilentTheta) {
  for (const char* config : {"{}", R"({"rope_theta": null})",
                             R"({"rope_scaling": {"rope_type": "linear", "factor": 2}})",
                             R"({"rope_parameters": {"rope_type": "default"}})"}) {
    EXPECT_NE(complaint(config).find("config.json: no RoPE theta: write \"rope_theta\""),
              std::string::npos)
        << config;
  }
}

TEST(RopeSettings, RefusesWhatCannotBe) {
  const auto scaled = [](const char* parameters) {
    return complaint(
        fmt::format(R"({{"rope_theta": 1e4, "rope_scaling": {}}})", parameters).c_str());
  };
  EXPECT_NE(scaled(R"({"rope_type": "spiral"})").find("'spiral' is unknown"), std::string::npos);
  EXPECT_NE(scaled(R"({"rope_type": "linear"})").find("factor"), std::string::npos);
  EXPECT_NE(scaled(R"({"rope_type": "linear", "factor": -1})").find("factor"), std::string::npos);
  EXPECT_NE(scaled(R"({"rope_type": "llama3", "factor": 8, "low_freq_factor": 4,
                       "high_freq_factor": 4})")
                .find("high_freq_factor"),
            std::string::npos);
  EXPECT_NE(scaled(R"({"rope_type": "yarn", "factor": 4, "beta_fast": -2})").find("beta_fast"),
            std::string::npos);
  EXPECT_NE(complaint(R"({"rope_theta": 1, "rope_scaling": {"type": "yarn", "factor": 4}})")
                .find("theta is 1"),
            std::string::npos);
  EXPECT_NE(complaint(R"({"rope_theta": 0})").find("rope_theta"), std::string::npos);
  EXPECT_NE(complaint(R"({"rope_theta": 1e4, "partial_rotary_factor": 0.5})")
                .find("partial_rotary_factor"),
            std::string::npos);
  RopeTraits partial = traits();
  partial.default_partial = 0.5;
  EXPECT_NE(complaint(R"({"rope_theta": 1e4, "partial_rotary_factor": 1e300})", partial)
                .find("even number between 2 and head_dim"),
            std::string::npos);
  RopeTraits odd = traits();
  odd.d_head = 5;
  EXPECT_NE(complaint(R"({"rope_theta": 1e4})", odd).find("head_dim 5"), std::string::npos);
}

TEST(RopeSettings, Names) {
  EXPECT_EQ(rope_type_name(RopeType::standard), "default");
  EXPECT_EQ(rope_type_name(RopeType::yarn), "yarn");
}

}  // namespace
}  // namespace ropewalk
