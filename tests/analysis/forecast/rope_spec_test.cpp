#include "ropewalk/analysis/forecast/rope_spec.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

using Kind = RopeSpec::Kind;

TEST(RopeSpec, ReadsEverySetting) {
  EXPECT_EQ(parse_rope_spec("none").kind, Kind::none);
  EXPECT_EQ(parse_rope_spec(" nope ").kind, Kind::nope);
  EXPECT_EQ(parse_rope_spec(" nope ").text, "nope");
  const RopeSpec theta = parse_rope_spec("theta:5e5");
  EXPECT_EQ(theta.kind, Kind::theta);
  EXPECT_EQ(theta.number, 500000);
  const RopeSpec times = parse_rope_spec("theta:x8");
  EXPECT_EQ(times.kind, Kind::theta_times);
  EXPECT_EQ(times.number, 8);
  EXPECT_EQ(parse_rope_spec("linear:4").kind, Kind::linear);
  EXPECT_EQ(parse_rope_spec("yarn:2.5").number, 2.5);
  EXPECT_EQ(parse_rope_spec("llama3:8").kind, Kind::llama3);
  EXPECT_EQ(parse_rope_spec("longrope:a folder/x:y.json").file, "a folder/x:y.json");
  EXPECT_EQ(parse_rope_spec("still:4096").number, 4096);
  EXPECT_TRUE(std::isinf(parse_rope_spec("still:inf").number));
}

TEST(RopeSpec, ReplacesTheScalingOfTheModelOrKeepsIt) {
  for (const char* name : {"linear:4", "yarn:4", "llama3:4", "longrope:x"}) {
    EXPECT_TRUE(parse_rope_spec(name).replaces_scaling()) << name;
  }
  for (const char* name : {"none", "nope", "theta:4", "theta:x4", "still:4"}) {
    EXPECT_FALSE(parse_rope_spec(name).replaces_scaling()) << name;
  }
}

TEST(RopeSpec, RefusesWhatIsNoSetting) {
  for (const char* name :
       {"",         "none:",     "none:2",   "nope:1",  "theta",      "theta:",   "theta:x",
        "theta:-1", "theta:nan", "theta:x0", "linear",  "linear:0.5", "yarn:inf", "yarn:2x",
        "longrope", "longrope:", "still",    "still:0", "still:-inf", "dynamic:2"}) {
    try {
      parse_rope_spec(name);
      ADD_FAILURE() << name;
    } catch (const UsageError& error) {
      EXPECT_EQ(error.field(), "rope") << name;
    }
  }
  EXPECT_THROW(parse_rope_specs({}), UsageError);
}

TEST(RopeSpec, TakesEachSettingOnce) {
  const auto specs = parse_rope_specs({"yarn:4", "none", " yarn:4", "nope"});
  ASSERT_EQ(specs.size(), 3U);
  EXPECT_EQ(specs[1].text, "none");
}

}  // namespace
}  // namespace ropewalk
