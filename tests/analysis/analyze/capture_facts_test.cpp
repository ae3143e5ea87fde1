#include "ropewalk/analysis/analyze/capture_facts.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

Json info() {
  return parse_json(
      R"({"format": 1, "model": "m", "label": "a", "dtype": "float32", "device": "cpu",
                        "point": "post-rope", "random": 0,
                        "config": {"architecture": "llama", "layers": 3, "n_q_heads": 6,
                                   "n_kv_heads": 2, "head_dim": 16, "nope_layers": [1]}})",
      "capture.json");
}

CaptureFacts read(const Json& json) {
  return capture_facts(CaptureInfo::from_json(json, "capture.json"), "capture.json");
}

std::string failure(const Json& json) {
  try {
    read(json);
  } catch (const InputError& error) {
    return error.what();
  }
  return "nothing thrown";
}

TEST(CaptureFacts, ReadsWhatTheAnalysisRestsOn) {
  const CaptureFacts facts = read(info());
  EXPECT_EQ(facts.group(), 3);
  EXPECT_EQ(facts.nope_layers, std::set<int64_t>{1});
  EXPECT_EQ(facts.origin.dtype, "float32");
  EXPECT_EQ(facts.origin.device, "cpu");
  EXPECT_TRUE(facts.random);
}

TEST(CaptureFacts, ScaleAndContextMayBeUnknown) {
  Json stated = info();
  const LogitUnits none = read(stated).units;
  EXPECT_TRUE(std::isnan(none.scale) && std::isnan(none.context));
  stated["config"]["attention_scale"] = 0.25;
  stated["context"] = 4096;
  const LogitUnits units = read(stated).units;
  EXPECT_EQ(units.scale, 0.25);
  EXPECT_EQ(units.context, 4096);
  EXPECT_EQ(units.in_layer(2).scale, 0.25);
  stated["config"]["attention_scale_of_layer"] = {{"2", 0.125}};
  const LogitUnits by_layer = read(stated).units;
  EXPECT_EQ(by_layer.in_layer(1).scale, 0.25);
  EXPECT_EQ(by_layer.in_layer(2).scale, 0.125);
  EXPECT_EQ(by_layer.in_layer(2).context, 4096);
  stated["config"]["attention_scale_of_layer"]["2"] = "half";
  EXPECT_NE(failure(stated).find("key 'config.attention_scale_of_layer.2'"), std::string::npos);
}

TEST(CaptureFacts, NamesFileAndKey) {
  Json wrong = info();
  wrong["config"]["n_q_heads"] = 0;
  EXPECT_EQ(failure(wrong),
            "capture.json: key 'config.n_q_heads': found 0, expected a whole number of at least 1");
  wrong["config"]["n_q_heads"] = "six";
  EXPECT_NE(failure(wrong).find("key 'config.n_q_heads': found \"six\""), std::string::npos);
  wrong["config"]["n_q_heads"] = 7;
  EXPECT_NE(failure(wrong).find("'config.n_q_heads' and 'config.n_kv_heads': found 7 and 2"),
            std::string::npos);
  wrong["config"]["n_q_heads"] = 2000000;
  EXPECT_NE(failure(wrong).find("found 2000000, expected at most 1000000"), std::string::npos);
  wrong = info();
  wrong["label"] = 5;
  EXPECT_NE(failure(wrong).find("key 'label': found 5"), std::string::npos);
  wrong["label"] = std::string(1001, 'x');
  EXPECT_NE(failure(wrong).find("key 'label': found 1001 bytes"), std::string::npos);
  wrong = info();
  wrong["config"]["nope_layers"] = "none";
  EXPECT_NE(failure(wrong).find("key 'config.nope_layers'"), std::string::npos);
  wrong["config"].erase("nope_layers");
  EXPECT_NE(failure(wrong).find("key 'config.nope_layers' is missing"), std::string::npos);
  wrong["config"] = 3;
  EXPECT_NE(failure(wrong).find("key 'config': found 3"), std::string::npos);
  EXPECT_NE(failure(Json(3)).find("is not a JSON object"), std::string::npos);
}

}  // namespace
}  // namespace ropewalk
