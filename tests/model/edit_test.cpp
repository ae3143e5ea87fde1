#include "ropewalk/model/edit.h"

#include <gtest/gtest.h>

#include <limits>

#include "ropewalk/base/error.h"
#include "tests/kernels/tensors.h"
#include "tests/model/tiny_checkpoint.h"
#include "tests/model/tiny_edits.h"

namespace ropewalk {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

class EditTest : public testing::Test {
 protected:
  EditTest() : config_(TinyCheckpoint().open().model.config) {}

  std::string complaint(const Edit& edit) const {
    try {
      check_edit(config_, edit, 40);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  }

  ModelConfig config_;
};

TEST_F(EditTest, AllAreFine) {
  for (const Edit& edit : tiny_edits({{1, {0, 3}}, {2, {1}}}, 40)) {
    EXPECT_EQ(complaint(edit), "") << edit.name;
    EXPECT_EQ(first_edited_layer(config_, edit, 40), 1) << edit.name;
    EXPECT_EQ(edited_heads(config_, edit, 1, 40), (std::vector<int64_t>{0, 3})) << edit.name;
    EXPECT_EQ(edited_heads(config_, edit, 0, 40), std::vector<int64_t>()) << edit.name;
    EXPECT_EQ(first_edited_layer(config_, edit, 4), std::nullopt) << "the first tokens stay";
  }
}

TEST_F(EditTest, WhatChangesNothing) {
  const HeadSet heads{{1, {0, 3}}};
  for (const Edit& edit : tiny_idle_edits(heads, 40)) {
    EXPECT_EQ(complaint(edit), "") << edit.name;
    EXPECT_EQ(first_edited_layer(config_, edit, 40), std::nullopt) << edit.name;
  }
  // With one more token, a key is too far away.
  EXPECT_EQ(first_edited_layer(config_, {"window", heads, ScoreEdit(Window{35})}, 40),
            std::nullopt);
  EXPECT_EQ(first_edited_layer(config_, {"window", heads, ScoreEdit(Window{35})}, 41), 1);
  config_.layers[1].window = 20;
  EXPECT_EQ(first_edited_layer(config_, {"window", heads, ScoreEdit(Window{19})}, 40),
            std::nullopt);
  EXPECT_EQ(first_edited_layer(config_, {"window", heads, ScoreEdit(Window{18})}, 40), 1);
}

TEST_F(EditTest, OnlyHeadsThatChange) {
  DistanceBias distance;
  distance.logits[{1, 0}] = at::ones({40}, at::kDouble);
  distance.logits[{1, 3}] = at::arange(40, at::kDouble);
  const Edit edit{"distance", {{1, {0, 3}}}, ScoreEdit(distance)};
  EXPECT_EQ(edited_heads(config_, edit, 1, 40), std::vector<int64_t>{3});
  // Distances beyond what a query sees do not count.
  distance.logits[{1, 3}] = at::cat({at::ones({20}, at::kDouble), at::arange(20, at::kDouble)});
  const Edit far{"distance", {{1, {0, 3}}}, ScoreEdit(distance)};
  EXPECT_EQ(edited_heads(config_, far, 1, 40), std::vector<int64_t>{3});
  EXPECT_EQ(edited_heads(config_, far, 1, 24), std::vector<int64_t>());
  config_.layers[1].window = 20;
  EXPECT_EQ(edited_heads(config_, far, 1, 40), std::vector<int64_t>());
}

TEST_F(EditTest, RefusesWhatCannotBeDone) {
  const HeadSet heads{{1, {0}}};
  EXPECT_EQ(complaint({"head", {}, OutputEdit()}),
            "the edit 'head' has no heads; expected at least one");
  EXPECT_EQ(
      complaint({"head", {{3, {0}}}, OutputEdit()}),
      "the edit 'head' of head 3.0: this head does not exist; the model has 3 layers with 4 heads");
  EXPECT_EQ(
      complaint({"head", {{2, {4}}}, OutputEdit()}),
      "the edit 'head' of head 2.4: this head does not exist; the model has 3 layers with 4 heads");
  EXPECT_EQ(complaint({"window:0", heads, ScoreEdit(Window{0})}),
            "the edit 'window:0' of head 1.0: found a window of 0 tokens, expected at least 1");
  EXPECT_EQ(complaint({"distance", heads, ScoreEdit(DistanceBias())}),
            "the edit 'distance' of head 1.0: found no logits by distance, expected logits by "
            "distance of 40 numbers");
  EXPECT_EQ(complaint({"axis", heads, VectorEdit(RemovedAxis())}),
            "the edit 'axis' of head 1.0: found no axis, expected one");
  EXPECT_EQ(complaint({"flatten", heads, VectorEdit(FlattenedDrift())}),
            "the edit 'flatten' of head 1.0: found no slope, expected one of its queries or keys");
  FlattenedDrift wide;
  wide.q[{1, 0}] = at::ones({7});
  EXPECT_EQ(complaint({"flatten", heads, VectorEdit(wide)}),
            "the edit 'flatten' of head 1.0: found a slope of queries of 7, expected a slope of "
            "queries of 6 numbers");
  DistanceBias infinite;
  infinite.logits[{1, 0}] = at::full({40}, kNever, at::kDouble);
  EXPECT_EQ(complaint({"distance", heads, ScoreEdit(infinite)}),
            "the edit 'distance' of head 1.0: logits by distance is not finite");
  EXPECT_EQ(complaint({"still", heads, VectorEdit(StillPairs{std::nan("")})}),
            "the edit 'still' of head 1.0: found a cut of nan, expected tokens");
  config_.layers[1].rope = false;
  EXPECT_EQ(complaint({"still", heads, VectorEdit(StillPairs{20})}),
            "the edit 'still' of head 1.0: its layer has no RoPE; choose heads of layers "
            "with RoPE");
  config_.layers[1].self_attention = false;
  EXPECT_EQ(
      complaint({"head", heads, OutputEdit()}),
      "the edit 'head' of head 1.0: its layer has no self-attention; choose heads of other layers");
}

}  // namespace
}  // namespace ropewalk
