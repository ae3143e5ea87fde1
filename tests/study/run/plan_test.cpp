#include "ropewalk/study/run/plan.h"

#include <gtest/gtest.h>

#include "ropewalk/base/error.h"
#include "ropewalk/base/log.h"
#include "ropewalk/study/run/study_documents.h"
#include "tests/model/tiny_checkpoint.h"
#include "tests/temporary_folder.h"

namespace ropewalk {
namespace {

class Plan : public testing::Test {
 protected:
  std::filesystem::path tiny(TinyCheckpoint& checkpoint) {
    return checkpoint.open().checkpoint->folder();
  }
  StudyPlan plan(const std::string& checkpoints, const std::string& context = "16",
                 bool keep_going = false, const Communicator& processes = {}) {
    const std::string text = fmt::format(
        "name: T\ncorpus: {{path: t.jsonl}}\ndevice: cpu\nphases:\n  - name: One\n"
        "    context: {}\n    checkpoints:\n{}axis: {}\n",
        context, checkpoints, axis_);
    folder_.write("e.yaml", text);
    return plan_study(read_experiment(folder_.path() / "e.yaml"), "out", keep_going, processes);
  }
  // The error, without the folder's name.
  std::string complaint(const std::string& checkpoints, const std::string& context = "16") {
    try {
      plan(checkpoints, context);
    } catch (const InputError& error) {
      const std::string what = error.what();
      return what.substr(what.find("e.yaml"));
    }
    return "";
  }

  std::string axis_ = "labels";
  TinyCheckpoint first_;
  const std::string a_ = fmt::format("      - {{label: A, path: {}}}\n", tiny(first_).string());
  TemporaryFolder folder_;
};

TEST_F(Plan, SaysWhereEverythingIsAndGoes) {
  const Communicator processes({.rank = 1, .count = 4}, nullptr);
  const StudyPlan found = plan("      - {label: init, random: 7}\n" + a_, "16", false, processes);
  ASSERT_EQ(found.checkpoints.size(), 2);
  EXPECT_EQ(found.texts.at(0).longest_context, 16);
  EXPECT_EQ(found.texts.at(0).vocabulary, 20);
  const PlannedCheckpoint& init = found.checkpoints[0];
  const PlannedCheckpoint& a = found.checkpoints[1];
  EXPECT_EQ(init.capture.model.random, 7);
  EXPECT_EQ(init.capture.model.model, a.capture.model.model) << "the next one's config";
  EXPECT_EQ(a.phase, "One");
  EXPECT_EQ(a.order, 1);
  EXPECT_EQ(a.line, 9);
  EXPECT_EQ(a.capture.out, "out/checkpoints/A");
  EXPECT_EQ(a.capture.state, "out/checkpoints/.A.state");
  EXPECT_EQ(a.capture.model.processes.count(), 4);
}

TEST_F(Plan, WhatCannotBeOpenedEndsItOrIsLeftOut) {
  const std::string both = "      - {label: gone, path: nowhere}\n" + a_;
  EXPECT_TRUE(complaint(both).starts_with("e.yaml:8: 'gone': path ")) << complaint(both);
  const StudyPlan found = plan(both, "16", /*keep_going=*/true);
  ASSERT_EQ(found.checkpoints.size(), 1);
  EXPECT_EQ(found.checkpoints[0].order, 0);
  ASSERT_EQ(found.failures.size(), 1);
  EXPECT_EQ(found.failures[0].label, "gone");
  EXPECT_NE(found.failures[0].text().find("is not a folder"), std::string::npos);
}

// Otherwise the other checkpoints would read other documents, only because this one is missing
// today.
TEST_F(Plan, TheContextOfACheckpointThatIsLeftOutCounts) {
  const std::string later =
      "  - name: Two\n    context: 40\n    checkpoints:\n"
      "      - {label: gone, path: nowhere}\n";
  const StudyPlan found = plan(a_ + later, "16", /*keep_going=*/true);
  ASSERT_EQ(found.checkpoints.size(), 1);
  EXPECT_EQ(found.texts.at(0).longest_context, 40);
}

// The same behaviour as capture's.
TEST_F(Plan, AContextBeyondTheModelsIsSaidAndMeasured) {
  std::vector<std::string> warnings;
  log::set_sink([&](log::Level level, std::string_view text) {
    if (level == log::Level::warning) warnings.emplace_back(text.substr(text.find("e.yaml")));
  });
  EXPECT_EQ(complaint(a_, "64"), "");
  EXPECT_TRUE(warnings.empty());
  EXPECT_EQ(complaint(a_, "[8, 65]"), "");
  log::set_sink({});
  EXPECT_EQ(warnings, std::vector<std::string>{
                          "e.yaml:6: 'A': context 65 exceeds the model's max_position_embeddings "
                          "64: later tokens are at positions for which it was not made"});
}

TEST_F(Plan, HeadsToDrawAreMeasured) {
  EXPECT_EQ(complaint(a_ + "figures: {distance: [L0H0]}\n"), "");
  EXPECT_EQ(complaint(a_ + "figures: {distance: [L0H0, L9H0]}\n"),
            "e.yaml: figures: distance: head L9H0 does not exist; the model has layers 0 to 2 with "
            "heads 0 to 3");
  const std::string sampled = a_ + "heads: {count: 1}\nfigures: {distance: [L0H0, L0H1]}\n";
  EXPECT_NE(complaint(sampled).find("was not chosen to be measured; leave it out"),
            std::string::npos);
}

TEST_F(Plan, SeveralContextsAreMeasuredByCheckpointAndNumberedByContext) {
  const StudyPlan found = plan("      - {label: init, random: 7}\n" + a_, "[32, 16]");
  std::vector<std::string> labels;
  for (const PlannedCheckpoint& planned : found.checkpoints) {
    labels.push_back(fmt::format("{} {} {}", planned.capture.label, planned.order,
                                 *planned.capture.model.context));
    EXPECT_EQ(planned.capture.out, "out/checkpoints/" + planned.capture.label);
  }
  EXPECT_EQ(labels,
            (std::vector<std::string>{"init@16 0 16", "init@32 2 32", "A@16 1 16", "A@32 3 32"}));
  EXPECT_EQ(found.checkpoints[3].checkpoint, "A");
  EXPECT_EQ(found.texts.at(0).longest_context, 32);
}

TEST_F(Plan, ALabelAndItsContextCanNameAFolder) {
  std::string long_label = a_;
  long_label.replace(long_label.find("A,"), 1, std::string(198, 'A'));
  EXPECT_EQ(complaint(long_label), "");
  EXPECT_NE(complaint(long_label, "[8, 16]").find("has 201 characters"), std::string::npos)
      << complaint(long_label, "[8, 16]");
}

TEST_F(Plan, AllAreOneModel) {
  TinyCheckpoint other;
  other.config["num_hidden_layers"] = 2;
  const std::string b = fmt::format("      - {{label: B, path: {}}}\n", tiny(other).string());
  EXPECT_EQ(
      complaint(a_ + b),
      "e.yaml:9: 'B' belongs to another model than 'A': its number of layers is 2, expected 3");
}

TEST_F(Plan, ModelsMayDifferAndReadTextsOfTheirOwn) {
  TinyCheckpoint other;
  other.config["num_hidden_layers"] = 2;
  std::erase_if(other.tensors, [](const auto& tensor) {
    return tensor.first.find("layers.2.") != std::string::npos;
  });
  const std::string a = tiny(first_).string(), b = tiny(other).string();
  folder_.write("e.yaml", fmt::format("name: T\ncorpus: {{path: t.jsonl}}\ndevice: cpu\nmodels:\n"
                                      "  - {{label: A, path: {}, context: 16, tokenizer: x}}\n"
                                      "  - {{label: B, model: {}, context: 8, tokenizer: x}}\n"
                                      "  - {{label: C, path: {}, context: 16, tokenizer: x}}\n"
                                      "  - {{label: D, path: {}, context: 16}}\n",
                                      a, b, b, a));
  const StudyPlan found = plan_study(read_experiment(folder_.path() / "e.yaml"), "out", false, {});
  ASSERT_EQ(found.checkpoints.size(), 4);
  std::vector<size_t> texts;
  for (const PlannedCheckpoint& planned : found.checkpoints) {
    texts.push_back(planned.text);
    EXPECT_EQ(planned.order, 0);
    EXPECT_EQ(planned.phase, "");
  }
  EXPECT_EQ(texts, (std::vector<size_t>{0, 1, 0, 2})) << "by tokenizer and context";
  EXPECT_EQ(found.checkpoints[1].capture.model.model, b) << "a model's folder is its checkpoint";
  EXPECT_EQ(found.texts[1].longest_context, 8);
  EXPECT_EQ(found.texts[2].tokenizer, std::nullopt);
}

TEST_F(Plan, AnAxisOfTimeNeedsIncreasingNumbers) {
  const std::string folder = tiny(first_).string();
  const auto entry = [&](const char* label, const char* more) {
    return fmt::format("      - {{label: {}, path: {}{}}}\n", label, folder, more);
  };
  EXPECT_EQ(plan(a_).checkpoints[0].time, TrainingTime{});
  axis_ = "log-steps";
  const StudyPlan good = plan("      - {label: init, random: 0}\n" + entry("step-5", "") +
                              entry("B", ", step: 9, tokens: 80"));
  EXPECT_EQ(good.checkpoints[0].time, TrainingTime{});
  EXPECT_EQ(good.checkpoints[1].time, (TrainingTime{5, std::nullopt}));
  EXPECT_EQ(good.checkpoints[2].time, (TrainingTime{9, 80}));
  EXPECT_EQ(complaint(a_),
            "e.yaml: axis log-steps: 'A' does not state its step; give it step: N in the "
            "experiment, or use the axis labels");
  EXPECT_EQ(
      complaint(entry("step-5", "") + entry("stage2-step-5", "")),
      "e.yaml: axis log-steps: 'stage2-step-5' (step 5) comes after 'step-5' (step 5); give them "
      "step: N in the experiment, counted from the beginning of training, or use the axis labels");
  EXPECT_EQ(complaint(entry("step-5", ""), "[8, 16]"),
            "e.yaml:6: axis log-steps is for one context at a time; write axis: labels");
}

TEST(CutDocuments, KeepsTheirFirstTokens) {
  DocumentSet documents;
  documents.documents = tiny_documents({9, 30, 17});
  const DocumentSet cut = cut_documents(documents, 10);
  ASSERT_EQ(cut.documents.size(), 3);
  EXPECT_EQ(cut.documents[0].digest, documents.documents[0].digest) << "it was short enough";
  EXPECT_EQ(cut.documents[1].tokens.size(), 10);
  EXPECT_NE(cut.documents[1].digest, documents.documents[1].digest);
  EXPECT_EQ(cut.total_tokens, 29);
  EXPECT_EQ(cut_documents(documents, 100).total_tokens, 56);
}

}  // namespace
}  // namespace ropewalk
