#include "ropewalk/moments/capture_info.h"

#include <gtest/gtest.h>

#include "ropewalk/base/error.h"
#include "ropewalk/moments/describe_difference.h"

namespace ropewalk {
namespace {

CaptureInfo example() {
  CaptureInfo info;
  info.weights = "abc";
  info.config = Json{{"layers", 2},
                     {"norm_eps", 1e-5},
                     {"vocabulary", 100},
                     {"max_position_embeddings", 4096},
                     {"initializer_range", 0.02},
                     {"rope",
                      {{{"type", "yarn"},
                        {"theta", 1e4},
                        {"rotary_dim", 8},
                        {"factor", 4.0},
                        {"original_context", 1024},
                        {"beta_fast", 32.0},
                        {"beta_slow", 1.0}}}},
                     {"sliding_windows", {{"1", 128}}}};
  info.dtype = "float32";
  info.device = "cpu";
  info.context = 64;
  info.point = "post-rope";
  info.heads = {{0, 1}, {1, 0}};
  info.blocks = 16;
  info.documents = 3;
  info.corpus = "def";
  info.label = "A";
  info.seconds = 1.5;
  return info;
}

// Changes one value of the model's description.
void describe(CaptureInfo& info, const char* path, const Json& value) {
  Json described = info.config.json();
  described[Json::json_pointer(path)] = value;
  info.config = described;
}

TEST(CaptureInfo, SurvivesJson) {
  CaptureInfo info = example();
  info.random = 7;
  info.texts = 2;
  info.chunk_blocks_digest = "abc";
  info.texts_with_id = 1;
  info.shard = Shard{1, 4};
  info.vectors = {"uniform", 1.5, 4, "ids"};
  info.accumulators = {
      {"lags", {7, {}}}, {"rows", {2, {32}}}, {"more_rows", {1, {KeepCount::kAll}}}};
  const CaptureInfo read = CaptureInfo::from_json(info.to_json(), "capture.json");
  EXPECT_EQ(read.to_json(), info.to_json());
  EXPECT_EQ(read.identity(), info.identity());
}

// Earlier editions wrote one version for all numerics, and a list of names of what was kept.
TEST(CaptureInfo, EarlierEditionsHaveOneVersionOfAllNumerics) {
  CaptureInfo info = example();
  info.numerics = 5;
  info.accumulators = {{"lags", {5, {}}}, {"pre_rope", {5, {}}}};
  Json before = info.to_json(), identity = info.identity();
  EXPECT_EQ(before["kept"], Json::parse(R"({"lags":{"numerics":5},"pre_rope":{"numerics":5}})"));
  EXPECT_EQ(upgraded_identity(identity), identity);
  before["kept"] = identity["kept"] = {"lags", "pre_rope"};
  EXPECT_EQ(CaptureInfo::from_json(before, "capture.json").to_json(), info.to_json());
  EXPECT_EQ(upgraded_identity(identity), info.identity());
}

TEST(CaptureInfo, NamesAreNotPartOfTheIdentity) {
  CaptureInfo other = example();
  other.label = "B";
  other.model = "elsewhere";
  other.hub = "org/name@1";
  other.tokenizer = "another";
  other.heads_seed = 5;
  other.seconds = 9;
  EXPECT_EQ(other.identity(), example().identity());
}

TEST(CaptureInfo, WhatChangesNumbersIs) {
  const auto differs = [](auto change) {
    CaptureInfo other = example();
    change(other);
    EXPECT_NE(other.identity(), example().identity());
    return describe_difference(example().identity(), other.identity());
  };
  EXPECT_EQ(differs([](CaptureInfo& i) { i.context = 128; }), "context: 64 → 128");
  EXPECT_EQ(differs([](CaptureInfo& i) { i.weights = "x"; }), "the weights changed");
  EXPECT_EQ(differs([](CaptureInfo& i) { describe(i, "/rope/0/beta_fast", 8.0); }),
            "rope/0/beta_fast: 32.0 → 8.0");
  EXPECT_EQ(differs([](CaptureInfo& i) { describe(i, "/norm_eps", 1e-6); }),
            "norm_eps: 1e-05 → 1e-06");
  EXPECT_EQ(differs([](CaptureInfo& i) { i.heads = {{0, 1}}; }), "heads: 2 → 1");
  EXPECT_EQ(differs([](CaptureInfo& i) { i.numerics = 1; }), "numerics: 7 → 1");
  differs([](CaptureInfo& i) { i.vectors = CaptureInfo::Vectors(); });
  differs([](CaptureInfo& i) { i.random = 0; });
  CaptureInfo cut = example();
  cut.texts = 2;
  CaptureInfo other = cut;
  other.chunk_blocks_digest = "elsewhere";
  EXPECT_EQ(describe_difference(cut.identity(), other.identity()),
            "the pieces of texts were dealt to other blocks");
}

TEST(CaptureInfo, WhatOnlyBoundsOtherChoicesIsNot) {
  CaptureInfo other = example();
  describe(other, "/max_position_embeddings", 8192);
  describe(other, "/vocabulary", 200);
  describe(other, "/initializer_range", 0.5);
  describe(other, "/of_a_newer_family", false);
  describe(other, "/also_newer", Json::object());
  describe(other, "/sliding_windows/1", 64);  // as long as the context, so that it sees everything
  EXPECT_EQ(other.identity(), example().identity());
  describe(other, "/sliding_windows/1", 63);
  EXPECT_NE(other.identity(), example().identity());
  CaptureInfo fresh = example();
  fresh.random = 0;
  CaptureInfo wider = fresh;
  describe(wider, "/initializer_range", 0.5);
  EXPECT_NE(wider.identity(), fresh.identity());
}

TEST(CaptureInfo, WrongTypesNameFileAndKey) {
  const auto refused = [](const std::string& key, const Json& value) {
    Json json = example().to_json();
    json[key] = value;
    try {
      CaptureInfo::from_json(json, "capture.json");
      ADD_FAILURE() << key << " = " << value;
    } catch (const InputError& error) {
      const std::string what = error.what();
      EXPECT_NE(what.find("capture.json"), std::string::npos) << what;
      EXPECT_NE(what.find(key), std::string::npos) << what;
    }
  };
  refused("hub", 5);
  refused("format", "x");
  refused("config", 3);
  refused("config", {{"layers", 0}});
  refused("config", {{"rope", {{{"type", "spiral"}}}}});
  refused("heads", {1, 2});
  refused("heads", {{1, uint64_t{1} << 60}});
  refused("documents", -1);
  refused("random", "seed");
  refused("shard", {0, uint64_t{1} << 62});
  refused("shard", {3, 2});
  refused("vectors", {{"rate", "x"}});
  refused("seconds", "long");
  refused("kept", "lags");
  refused("kept", {1});
  refused("kept", {{"lags", 7}});
  refused("kept", {{"lags", {{"numerics", -1}}}});
  refused("kept", {{"rows", {{"numerics", 1}, {"count", -5}}}});
}

TEST(CaptureInfo, MergingNamesTheFieldThatDiffers) {
  CaptureInfo other = example();
  describe(other, "/rope/0/beta_fast", 8.0);
  try {
    require_mergeable(example(), "a", other, "b");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "a and b cannot be merged: config.rope.0.beta_fast is 32.0 and 8.0");
  }
  other = example();
  other.documents = 9;
  other.corpus = "other";
  require_mergeable(example(), "a", other, "b");
}

}  // namespace
}  // namespace ropewalk
