#include "ropewalk/model/config/described_rope.h"

#include <gtest/gtest.h>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/json_reader.h"
#include "ropewalk/model/config/describe_config.h"
#include "ropewalk/model/config/rope_frequencies.h"

namespace ropewalk {
namespace {

RopeSettings settings(RopeType type) {
  RopeSettings rope;
  rope.type = type;
  rope.theta = 5000;
  rope.rotary_dim = 8;
  rope.interleaved = type == RopeType::linear;
  rope.max_positions = 32;
  if (type != RopeType::standard) rope.factor = 4;
  rope.original_context = 16;
  rope.low_freq_factor = 1;
  rope.high_freq_factor = 4;
  rope.beta_fast = 8;
  rope.beta_slow = 2;
  rope.truncate = false;
  rope.short_factors = {1, 1, 2, 3};
  rope.long_factors = {1, 2, 4, 8};
  if (type == RopeType::longrope) rope.attention_factor = 1.3;
  return rope;
}

TEST(DescribedRope, EqualsTheModelsRope) {
  ModelConfig config;
  for (const RopeType type : {RopeType::standard, RopeType::linear, RopeType::dynamic,
                              RopeType::llama3, RopeType::yarn, RopeType::longrope}) {
    config.ropes.push_back(settings(type));
  }
  RopeSettings scaled = settings(RopeType::yarn);
  scaled.mscale = 0.8;
  scaled.mscale_all_dim = 0.4;
  config.ropes.push_back(scaled);
  config.layers.resize(3);
  config.layers[2].rope_index = 4;
  config.query_scaling = {0.1, 64};
  const auto read = read_described_rope(JsonReader(describe_config(config), "capture.json"));
  ASSERT_TRUE(read);
  ASSERT_EQ(read->ropes.size(), config.ropes.size());
  for (size_t i = 0; i < config.ropes.size(); ++i) {
    EXPECT_EQ(read->ropes[i].interleaved, config.ropes[i].interleaved);
    for (const int64_t tokens : {10, 100}) {
      const RopeFrequencies expected = rope_frequencies(config.ropes[i], tokens);
      const RopeFrequencies found = rope_frequencies(read->ropes[i], tokens);
      EXPECT_TRUE(found.angles.equal(expected.angles)) << i;
      EXPECT_EQ(found.attention_factor, expected.attention_factor) << i;
    }
  }
  EXPECT_EQ(read->of_layer(0), &read->ropes[0]);
  EXPECT_EQ(read->of_layer(2), &read->ropes[4]);
  EXPECT_EQ(read->query_scaling->original_context, 64);
  EXPECT_EQ(read->query_scaling->beta, 0.1);
}

TEST(DescribedRope, WithoutRope) {
  EXPECT_FALSE(read_described_rope(JsonReader(Json::object(), "old")));
  ModelConfig config;
  config.layers.resize(1);
  const auto read = read_described_rope(JsonReader(describe_config(config), "gpt2"));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->of_layer(0), nullptr);
}

TEST(DescribedRope, RefusesForeignDescriptions) {
  ModelConfig config;
  config.ropes = {settings(RopeType::longrope)};
  config.layers.resize(1);
  const Json good = describe_config(config);
  const auto rope = read_described_rope(JsonReader(good, "capture.json"));
  rope->require_fit(8, "capture.json");
  EXPECT_THROW(rope->require_fit(6, "capture.json"), InputError);
  for (const auto& [pointer, value] : std::vector<std::pair<std::string, Json>>{
           {"/rope", "all"},
           {"/rope/0", 7},
           {"/rope/0/type", "spiral"},
           {"/rope/0/theta", 0},
           {"/rope/0/rotary_dim", 7},
           {"/rope/0/short_factors", {1, 2}},
           {"/rope_of_layer", {{"0", 1}}},
           {"/rope_of_layer", {{"0", -1}}},
           {"/query_scaling", {{"beta", 1}, {"original_context", 0}}}}) {
    Json bad = good;
    bad[Json::json_pointer(pointer)] = value;
    EXPECT_THROW(read_described_rope(JsonReader(bad, "capture.json")), InputError) << pointer;
  }
}

}  // namespace
}  // namespace ropewalk
