#include <gtest/gtest.h>

#include <csignal>
#include <map>

#include "ropewalk/base/error.h"
#include "ropewalk/base/processes/interrupt.h"
#include "ropewalk/model/edited_layer.h"
#include "ropewalk/model/forward.h"
#include "ropewalk/model/head_outputs.h"
#include "tests/kernels/tensors.h"
#include "tests/model/tiny_checkpoint.h"
#include "tests/model/tiny_edits.h"

namespace ropewalk {
namespace {

constexpr int64_t kPlenty = int64_t{1} << 30;

// Records logits of every document in the unedited pass and in edited passes, and the outputs of
// heads.
class LoggingObserver : public Observer {
 public:
  bool wants_logits() const override { return true; }
  void on_logits(const Logits& logits) override { add(unedited[logits.document->index], logits); }
  void on_edited_logits(const EditedLogits& logits) override {
    at::Tensor& of = edited[{logits.edit, logits.logits.document->index}];
    add(of, logits.logits);
    const at::Tensor expected_rows = unedited.at(logits.logits.document->index);
    EXPECT_TRUE(at::equal(logits.unedited, expected_rows.slice(0, logits.logits.begin)))
        << "in step";
  }
  bool wants_outputs() const override { return true; }
  void on_outputs(const TappedOutputs& of) override {
    outputs[{of.layer, of.document->index}] = of.rows.clone();
  }

  std::map<int64_t, at::Tensor> unedited;
  std::map<std::pair<size_t, int64_t>, at::Tensor> edited;
  std::map<std::pair<int64_t, int64_t>, at::Tensor> outputs;

 private:
  static void add(at::Tensor& all, const Logits& logits) {
    all = all.defined() ? at::cat({all, logits.rows}) : logits.rows.clone();
  }
};

class EditedPassTest : public testing::Test {
 protected:
  EditedPassTest() {
    tiny_.add_head();
    opened_ = tiny_.open();
    options_.memory = kPlenty;
    options_.progress = [this](int64_t stage, int64_t tokens) { done_[stage] += tokens; };
  }

  LoggingObserver run(const std::vector<Edit>& edits, const std::vector<Document>& documents) {
    done_.clear();
    options_.edits = edits;
    const WeightReader reader = opened_.reader({2, Needed::head});
    LoggingObserver logged;
    Observer* const observers[] = {&logged};
    run_forward(opened_.model.config, reader, documents, observers, options_);
    return logged;
  }

  // The smallest budget for one document of `tokens` and its edited passes.
  int64_t least_memory(int64_t tokens, size_t edits) {
    const WeightReader reader = opened_.reader({2, Needed::head});
    return reader.layer_bytes(0) + static_cast<int64_t>(1 + edits) * tokens * 16 * 4;
  }

  TinyCheckpoint tiny_;
  TinyCheckpoint::Opened opened_;
  ForwardOptions options_;
  std::map<int64_t, int64_t> done_;  // tokens per stage
};

TEST_F(EditedPassTest, WhatChangesNothingLeavesEveryBit) {
  const auto documents = tiny_documents({40, 9, 3});
  const auto edits = tiny_idle_edits({{0, {0, 1, 2, 3}}, {2, {1}}}, 40);
  const LoggingObserver plain = run({}, documents);
  const LoggingObserver logged = run(edits, documents);
  for (size_t i = 0; i < edits.size(); ++i) {
    for (const int64_t document : {0, 1, 2}) {
      EXPECT_TRUE(at::equal(logged.edited.at({i, document}), plain.unedited.at(document)))
          << edits[i].name;
      EXPECT_TRUE(at::equal(logged.unedited.at(document), plain.unedited.at(document)));
    }
  }
}

TEST_F(EditedPassTest, WhatChangesNothingInAPassOfItsOwnLeavesEveryBit) {
  // The window contains all of a short document but not of a long one: the short one also gets a
  // pass of its own.
  const auto documents = tiny_documents({40, 9, 3});
  const LoggingObserver logged =
      run({{"window:10", {{0, {1}}, {1, {0, 2}}}, ScoreEdit(Window{10})}}, documents);
  EXPECT_EQ(done_.at(0), 2 * 52);
  EXPECT_FALSE(at::equal(logged.edited.at({0, 0}), logged.unedited.at(0)));
  EXPECT_TRUE(at::equal(logged.edited.at({0, 1}), logged.unedited.at(1)));
  EXPECT_TRUE(at::equal(logged.edited.at({0, 2}), logged.unedited.at(2)));
}

TEST_F(EditedPassTest, EveryEditChangesWhatComesAfterItsFirstTokens) {
  const auto edits = tiny_edits({{1, {0, 3}}}, 40);
  const LoggingObserver logged = run(edits, tiny_documents({40}));
  for (size_t i = 0; i < edits.size(); ++i) {
    const at::Tensor found = logged.edited.at({i, 0}), unedited = logged.unedited.at(0);
    EXPECT_TRUE(at::equal(found.slice(0, 0, 4), unedited.slice(0, 0, 4))) << edits[i].name;
    EXPECT_GT((found - unedited).abs().max().item<double>(), 1e-3) << edits[i].name;
  }
}

TEST_F(EditedPassTest, TogetherAsAlone) {
  const auto documents = tiny_documents({40, 9, 30});
  std::vector<Edit> edits = tiny_edits({{0, {2}}, {2, {0, 1}}}, 40);
  for (Edit& edit : tiny_edits({{2, {3}}}, 40)) edits.push_back(std::move(edit));
  const LoggingObserver together = run(edits, documents);
  options_.memory = least_memory(40, edits.size());
  const LoggingObserver in_groups = run(edits, documents);
  options_.memory = kPlenty;
  for (size_t i = 0; i < edits.size(); ++i) {
    const LoggingObserver alone = run({edits[i]}, documents);
    for (const int64_t document : {0, 1, 2}) {
      const at::Tensor expected = alone.edited.at({0, document});
      EXPECT_TRUE(at::equal(together.edited.at({i, document}), expected)) << edits[i].name;
      EXPECT_TRUE(at::equal(in_groups.edited.at({i, document}), expected)) << edits[i].name;
    }
  }
  options_.memory = least_memory(40, edits.size()) - 1;
  EXPECT_THROW(run(edits, documents), UsageError) << "hidden states of edits are counted";
}

TEST_F(EditedPassTest, LayersBeforeTheFirstEditedOneAreRunOnce) {
  std::vector<Edit> edits = tiny_edits({{1, {0}}}, 40);
  const auto at_layer_1 = static_cast<int64_t>(edits.size());
  for (Edit& edit : tiny_edits({{2, {3}}}, 40)) edits.push_back(std::move(edit));
  const auto all = static_cast<int64_t>(edits.size());
  for (Edit& edit : tiny_idle_edits({{0, {0}}}, 40)) edits.push_back(std::move(edit));
  run(edits, tiny_documents({40, 7}));
  EXPECT_EQ(done_,
            (std::map<int64_t, int64_t>{
                {0, 47}, {1, (1 + at_layer_1) * 47}, {2, (1 + all) * 47}, {3, (1 + all) * 47}}));
}

TEST_F(EditedPassTest, AHeadCanBeItsMeanOverOtherDocuments) {
  const auto documents = tiny_documents({40, 9, 3});
  const LoggingObserver plain = run({}, documents);
  const auto outputs = std::make_shared<HeadOutputs>();
  for (const auto& [key, rows] : plain.outputs) outputs->add(key.second, key.first, rows);
  // For the first document, these are the late tokens of the second one.
  const at::Tensor expected = plain.outputs.at({2, 1}).slice(0, 4).mean(0);
  EXPECT_LT((outputs->mean_of_others(0, 2) - expected).abs().max().item<double>(), 1e-6);
  EXPECT_LT((outputs->mean(1, 2) - expected).abs().max().item<double>(), 1e-6);
  const LoggingObserver logged =
      run({{"head", {{2, {1}}}, OutputEdit{outputs}}, {"head:zero", {{2, {1}}}, OutputEdit()}},
          documents);
  EXPECT_FALSE(at::equal(logged.edited.at({0, 0}), plain.unedited.at(0)));
  EXPECT_FALSE(at::equal(logged.edited.at({0, 0}), logged.edited.at({1, 0})));
  const auto lonely = std::make_shared<HeadOutputs>();
  lonely->add(0, 2, plain.outputs.at({2, 0}));
  lonely->add(2, 2, plain.outputs.at({2, 2}));
  try {
    lonely->mean_of_others(0, 2);
    FAIL() << "the other has no late token";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(),
                 "the mean output of a head needs other documents than the one whose loss is "
                 "measured: found none with more than 4 tokens, expected at least 2 documents");
  }
}

TEST_F(EditedPassTest, NeighboursOfAnEditedHeadStayAsTheyWere) {
  const auto documents = tiny_documents({30});
  const WeightReader reader = opened_.reader({2, Needed::head});
  const LayerWeights weights = reader.load(0);
  const ModelConfig& config = opened_.model.config;
  const Projection before = project(config, weights, reader.embed(documents[0].tokens));
  Projection after = before;
  const RopeTable table = make_rope_table(config.ropes[0], 30, at::kCPU);
  apply_position(config, config.layers[0], &table, after, /*keep=*/true);
  const at::Tensor plain = attend(config, score_options(config, config.layers[0], weights), after);
  const Projection untouched{after.q.clone(), after.k.clone(), after.v.clone()};
  for (const Edit& edit : tiny_edits({{0, {1}}}, 40)) {
    const at::Tensor attended = plain.clone();
    edit_outputs({config, 0, weights, documents[0], before, after}, edit, attended);
    // Query heads 0 and 1 share a key.
    for (const auto& [kv, of] : {std::pair{0, 0}, {1, 0}, {1, 1}}) {
      const auto head = [kv = kv, of = of](const at::Tensor& x) {
        return x.select(1, kv).select(1, of);
      };
      EXPECT_TRUE(at::equal(head(attended), head(plain))) << edit.name;
    }
    const at::Tensor edited = attended.select(1, 0).select(1, 1);
    const at::Tensor unedited = plain.select(1, 0).select(1, 1);
    EXPECT_TRUE(at::equal(edited.slice(0, 0, 4), unedited.slice(0, 0, 4))) << edit.name;
    EXPECT_FALSE(at::equal(edited, unedited)) << edit.name;
    EXPECT_TRUE(at::equal(after.q, untouched.q)) << edit.name;
    EXPECT_TRUE(at::equal(after.k, untouched.k)) << edit.name;
  }
}

TEST_F(EditedPassTest, NeedsAHead) {
  const auto edits = tiny_edits({{1, {0}}}, 40);
  options_.edits = edits;
  const WeightReader reader = opened_.reader({2});
  EXPECT_THROW(run_forward(opened_.model.config, reader, tiny_documents({5}), {}, options_),
               UsageError);
}

TEST_F(EditedPassTest, IsInterruptedBetweenEdits) {
  const auto edits = tiny_edits({{1, {0}}}, 40);
  int64_t calls = 0;
  options_.progress = [&](int64_t stage, int64_t) {
    if (stage == 1 && ++calls == 3) request_interrupt(SIGINT);
  };
  EXPECT_THROW(run(edits, tiny_documents({40})), Interrupted);
  EXPECT_EQ(calls, 3) << "at once";
  forget_interrupt();
}

}  // namespace
}  // namespace ropewalk
