#include "ropewalk/analysis/run/comparable.h"

#include <gtest/gtest.h>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

CheckpointTable checkpoint(const std::string& label) {
  CheckpointTable made;
  made.label = label;
  made.origin = {"llama", 12, 4, 2, 16, "float32", "cpu"};
  made.blocks = 16;
  made.documents = {{0, 7}, {1, 8}};
  return made;
}

std::string refusal(const CheckpointTable& other) {
  try {
    // A checkpoint between the two that states nothing about itself.
    CheckpointTable unknown = checkpoint("vectors");
    unknown.origin = {};
    check_comparable({checkpoint("a"), unknown, other});
  } catch (const InputError& error) {
    return error.what();
  }
  return "nothing thrown";
}

TEST(Comparable, RefusesOtherShapes) {
  CheckpointTable other = checkpoint("b");
  other.origin.layers = 24;
  EXPECT_EQ(refusal(other),
            "'a' and 'b' cannot be in one table: layers is 12 and 24; make one table for each");
  other = checkpoint("b");
  other.origin.architecture = "qwen3";
  EXPECT_NE(refusal(other).find("architecture is 'llama' and 'qwen3'"), std::string::npos);
  EXPECT_EQ(refusal(checkpoint("b")), "nothing thrown");
}

TEST(Comparable, SaysWherePairsAreLost) {
  EXPECT_TRUE(check_comparable({checkpoint("a"), checkpoint("b"), checkpoint("c")}).empty());
  CheckpointTable other = checkpoint("b");
  other.documents = {{0, 7}, {1, 9}};
  other.origin.dtype = "bfloat16";
  EXPECT_EQ(
      check_comparable({checkpoint("a"), other, checkpoint("c")}),
      (std::vector<std::string>{"'a' and 'b' read different documents: errors of their difference "
                                "are computed as for independent samples (and 1 more pair)",
                                "'a' and 'b' ran in float32 and bfloat16: their difference "
                                "includes the difference between these (and 1 more pair)"}));
  other = checkpoint("b");
  other.documents = {{0, 7}, {1, 9}};
  other.origin.context = 64;
  EXPECT_NE(
      check_comparable({checkpoint("a"), other})[0].find("(perhaps the same ones: contexts below"),
      std::string::npos);
  other = checkpoint("b");
  other.blocks = 8;
  other.origin.device = "cuda";
  const auto warnings = check_comparable({checkpoint("a"), other});
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_NE(warnings[0].find("have 16 and 8 blocks"), std::string::npos);
  EXPECT_NE(warnings[1].find("ran on cpu and cuda"), std::string::npos);
}

TEST(Comparable, SaysWhereOneKeptLess) {
  CheckpointTable whole = checkpoint("a");
  whole.origin.accumulators = {"lags", "pre_rope"};
  EXPECT_TRUE(check_comparable({whole, whole}).empty());
  EXPECT_EQ(
      check_comparable({whole, checkpoint("b")}),
      std::vector<std::string>{"'b' has no lags or pre_rope data, but 'a' has: these columns are "
                               "empty for the former, and bands.csv and curves.csv lack its rows"});
  CheckpointTable other = checkpoint("b");
  other.origin.accumulators = {"lags", "plasticity"};
  const std::vector<std::string> both = check_comparable({whole, other});
  ASSERT_EQ(both.size(), 1u);
  EXPECT_EQ(both[0].find("'a' has no plasticity data, but 'b' has"), 0u);
}

TEST(Comparable, TellsModelsOfTheHubApart) {
  CheckpointTable first = checkpoint("a"), second = checkpoint("b");
  first.model = "step-40";
  second.model = "step-80";
  EXPECT_TRUE(check_comparable({first, second}).empty());
  first.model = "org/one";
  second.model = "org/two";
  EXPECT_EQ(
      check_comparable({first, second}),
      std::vector<std::string>{"'a' and 'b' belong to different models, org/one and org/two"});
}

}  // namespace
}  // namespace ropewalk
