#include "ropewalk/study/ablation/edited_loss.h"

#include <gtest/gtest.h>

#include <csignal>

#include "ropewalk/base/error.h"
#include "ropewalk/base/processes/interrupt.h"
#include "ropewalk/base/progress.h"
#include "ropewalk/moments/collectors/loss_collector.h"
#include "tests/model/tiny_edits.h"
#include "tests/study/tiny_open_model.h"

namespace ropewalk {
namespace {

class EditedLossTest : public testing::Test {
 protected:
  EditedLossTest() : documents_(tiny_documents({40, 9, 1, 30})) {
    model_ = open_tiny_model(tiny_, 40, int64_t{1} << 30);
    weights_.emplace(model_.weights());
  }

  LossPass pass() const { return {model_, *weights_, documents_}; }

  // The losses of all edits, and the order in which they finished.
  std::vector<EditedLoss> measure(const std::vector<Edit>& edits) {
    std::vector<EditedLoss> losses(edits.size());
    finished_.clear();
    measure_edits(pass(), edits, [&](size_t edit, const EditedLoss& loss) {
      losses[edit] = loss;
      finished_.push_back(edit);
    });
    return losses;
  }

  // Twenty-four edits: more than fit into a round.
  std::vector<Edit> many_edits() const {
    std::vector<Edit> edits;
    for (const int64_t layer : {2, 0, 1}) {
      for (Edit& edit : tiny_edits({{layer, {1}}}, 40)) edits.push_back(std::move(edit));
    }
    return edits;
  }

  // The smallest budget for the longest document and this many edited passes.
  int64_t least_memory(int64_t edits) const {
    return weights_->layer_bytes(0) + (1 + edits) * 40 * 16 * 4;
  }

  TinyCheckpoint tiny_;
  std::vector<Document> documents_;
  OpenModel model_;
  std::optional<WeightReader> weights_;
  std::vector<size_t> finished_;
};

TEST_F(EditedLossTest, IsThatOfThePassWithTheEdit) {
  const UneditedLoss unedited = measure_unedited(pass(), /*outputs=*/true);
  EXPECT_EQ(unedited.loss.sizes(), (std::vector<int64_t>{4, loss_bins(40)}));
  auto edits = tiny_edits({{1, {0, 3}}}, 40);
  edits.push_back({"head", {{0, {2}}}, OutputEdit{unedited.outputs}});
  const auto losses = measure(edits);
  for (size_t i = 0; i < edits.size(); ++i) {
    const at::Tensor change = (losses[i].loss - unedited.loss).abs().sum(1);
    const at::Tensor kl = losses[i].kl.sum(1);
    for (const int64_t document : {0, 3}) {  // the long documents
      EXPECT_GT(change[document].item<double>(), 1e-4) << edits[i].name;
      EXPECT_GT(kl[document].item<double>(), 1e-6) << edits[i].name;
    }
    EXPECT_EQ(change[2].item<double>(), 0) << "one token predicts nothing";
    // Tokens 0, 1 and 2, 3 are never edited.
    EXPECT_TRUE(losses[i].kl.slice(1, 0, 3).eq(0).all().item<bool>()) << edits[i].name;
    EXPECT_TRUE(at::equal(losses[i].loss.slice(1, 0, 3), unedited.loss.slice(1, 0, 3)));
  }
}

TEST_F(EditedLossTest, WhatChangesNothingCostsNothing) {
  const UneditedLoss unedited = measure_unedited(pass(), /*outputs=*/false);
  EXPECT_EQ(unedited.outputs, nullptr);
  const auto edits = tiny_idle_edits({{0, {0, 1}}, {2, {3}}}, 40);
  for (const EditedLoss& loss : measure(edits)) {
    EXPECT_TRUE(at::equal(loss.loss, unedited.loss)) << "bit for bit";
    EXPECT_TRUE(loss.kl.eq(0).all().item<bool>());
  }
  EXPECT_EQ(plan_edits(pass(), edits).passes, 1) << "the one that they share";
}

TEST_F(EditedLossTest, RoundsFollowTheFirstEditedLayer) {
  const auto edits = many_edits();
  EditPlan plan = plan_edits(pass(), edits);
  ASSERT_EQ(plan.rounds.size(), 2U);
  EXPECT_EQ(plan.rounds[0].size(), 16U);
  EXPECT_EQ(plan.rounds[0][0], 8U) << "those of layer 0";
  EXPECT_EQ(plan.rounds[0][8], 16U) << "those of layer 1";
  EXPECT_EQ(plan.rounds[1], (std::vector<size_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  // Four stages, all of which an edit of layer 0 has of its own.
  EXPECT_DOUBLE_EQ(plan.passes, 2 + 8 * (1 + 0.75 + 0.5));
  EXPECT_EQ(plan.hidden_bytes, 17 * 40 * 16 * 4);

  const auto with_plenty = measure(edits);
  EXPECT_EQ(finished_.size(), edits.size());
  model_.memory = least_memory(3);
  plan = plan_edits(pass(), edits);
  EXPECT_EQ(plan.rounds.size(), 8U);
  EXPECT_EQ(plan.hidden_bytes, 4 * 40 * 16 * 4);
  const auto with_little = measure(edits);
  for (size_t i = 0; i < edits.size(); ++i) {
    EXPECT_TRUE(at::equal(with_plenty[i].loss, with_little[i].loss)) << edits[i].name;
    EXPECT_TRUE(at::equal(with_plenty[i].kl, with_little[i].kl)) << edits[i].name;
  }
  model_.memory = least_memory(1);
  EXPECT_EQ(plan_edits(pass(), edits).rounds.size(), 24U);
  model_.memory = least_memory(1) - 1;
  EXPECT_THROW(plan_edits(pass(), edits), UsageError);
}

TEST_F(EditedLossTest, MeanOutputsCountWithinTheMemory) {
  const auto outputs = measure_unedited(pass(), /*outputs=*/true).outputs;
  // Four documents and their sum; three layers with 4 heads of 6 dimensions.
  EXPECT_EQ(outputs->bytes(), 5 * 3 * 24 * 8);
  EXPECT_EQ(HeadOutputs::bytes_of(model_.text.config, 4), outputs->bytes());
  const std::vector<Edit> edits{{"head", {{1, {0}}}, OutputEdit{outputs}}};
  model_.memory = least_memory(1) + outputs->bytes();
  EXPECT_EQ(plan_edits(pass(), edits).rounds.size(), 1U);
  --model_.memory;
  EXPECT_THROW(plan_edits(pass(), edits), UsageError);
}

TEST_F(EditedLossTest, ProgressEndsWhereItSaid) {
  ProgressReport last;
  set_progress_sink([&](const ProgressReport& report) { last = report; });
  measure(many_edits());
  set_progress_sink({});
  EXPECT_EQ(last.done, last.total);
}

TEST_F(EditedLossTest, WhatWasFinishedStaysFinished) {
  model_.memory = least_memory(3);
  std::vector<size_t> finished;
  EXPECT_THROW(measure_edits(pass(), many_edits(),
                             [&](size_t edit, const EditedLoss&) {
                               finished.push_back(edit);
                               if (finished.size() == 6) request_interrupt(SIGINT);
                             }),
               Interrupted);
  EXPECT_EQ(finished.size(), 6U) << "two rounds";
  forget_interrupt();
}

TEST_F(EditedLossTest, RefusesBeforeAnythingIsComputed) {
  std::vector<Edit> edits = tiny_edits({{1, {0}}}, 40);
  edits.push_back({"head:zero", {{7, {0}}}, OutputEdit()});
  bool computed = false;
  set_progress_sink([&](const ProgressReport&) { computed = true; });
  EXPECT_THROW(measure(edits), UsageError);
  set_progress_sink({});
  EXPECT_FALSE(computed);
}

}  // namespace
}  // namespace ropewalk
