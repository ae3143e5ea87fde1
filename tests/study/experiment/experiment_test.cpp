#include "ropewalk/study/experiment/experiment.h"

#include <gtest/gtest.h>

#include "ropewalk/base/error.h"
#include "tests/study/experiment/experiment_text.h"
#include "tests/temporary_folder.h"

namespace ropewalk {
namespace {

TEST(Experiment, ReadsEverything) {
  const Experiment e = read_experiment_text(kExperimentText);
  EXPECT_EQ(e.name, "Demo");
  EXPECT_EQ(e.model, "models/base");
  EXPECT_EQ(e.corpus.documents, 48);
  EXPECT_EQ(e.corpus.min_tokens, 100);
  EXPECT_EQ(e.corpus.field, "body");
  EXPECT_EQ(e.corpus.id, "key");
  EXPECT_EQ(e.head_count, 300);
  EXPECT_EQ(e.head_seed, 7);
  EXPECT_TRUE(e.keep.loss);
  EXPECT_EQ(e.figures.to_json(), Json::parse(R"({"statistics": ["r2cv_q", "abs_r_k"],
                                                 "portraits": [["r_q", "bias_context"]]})"));
  EXPECT_EQ(e.memory, int64_t{2} << 30);
  EXPECT_EQ(e.blocks, 8);
  EXPECT_TRUE(e.sliding);
  EXPECT_EQ(e.components, 5);
  ASSERT_EQ(e.phases.size(), 2);
  EXPECT_EQ(e.phases[0].contexts, std::vector<int64_t>{512});
  EXPECT_EQ(e.phases[0].config["rope_theta"], 50000.0);
  EXPECT_EQ(e.phases[0].config["rope_scaling"]["factor"], 2);
  EXPECT_EQ(e.phases[0].checkpoints[0].random, 0);
  EXPECT_EQ(e.phases[0].checkpoints[1].revision, "step-1");
  EXPECT_EQ(e.phases[1].checkpoints[0].path, "models/b");
  EXPECT_EQ(e.phases[1].checkpoints[0].line, 25);
  EXPECT_TRUE(e.phases[1].contexts.empty());
}

TEST(Experiment, ReadsTheAxisAndTheTimesOfCheckpoints) {
  EXPECT_EQ(read_experiment_text(kExperimentText).axis, TimeAxis::labels);
  EXPECT_FALSE(read_experiment_text(kExperimentText).phases[0].checkpoints[1].step);
  EXPECT_EQ(read_experiment_text(changed_experiment("dtype: float32", "axis: log-tokens")).axis,
            TimeAxis::log_tokens);
  const Experiment timed = read_experiment_text(
      changed_experiment("revision: step-1}", "revision: step-1, step: 7, tokens: 14000}"));
  EXPECT_EQ(timed.phases[0].checkpoints[1].step, 7);
  EXPECT_EQ(timed.phases[0].checkpoints[1].tokens, 14000);
  EXPECT_EQ(experiment_message(changed_experiment("dtype: float32", "axis: log-step"))
                .find("e.yaml:9: axis: "),
            0u);
  EXPECT_EQ(
      experiment_message(changed_experiment("revision: step-1}", "revision: step-1, step: -1}"))
          .find("e.yaml:22: "),
      0u);
}

TEST(Experiment, AListOfContextsIsSortedAndNamesLabels) {
  const Experiment e =
      read_experiment_text(changed_experiment("context: 512", "context: [2048, 512]"));
  EXPECT_EQ(e.phases[0].contexts, (std::vector<int64_t>{512, 2048}));
  CheckpointEntry entry;
  entry.label = "A";
  EXPECT_EQ(e.phases[0].labels_of(entry), (std::vector<std::string>{"A@512", "A@2048"}));
  EXPECT_EQ(e.phases[1].labels_of(entry), std::vector<std::string>{"A"});
  const Experiment one = read_experiment_text(changed_experiment("context: 512", "context: [512]"));
  EXPECT_EQ(one.phases[0].labels_of(entry), std::vector<std::string>{"A"});
}

TEST(Experiment, CorporaAreFilesOrDatasets) {
  const std::string rest = "\nphases: [{name: p, checkpoints: [{label: a, path: b}]}]\n";
  const TemporaryFolder folder;
  const auto read = [&](const std::string& corpus) {
    return read_experiment(folder.write("e.yaml", "name: x\ncorpus: " + corpus + rest));
  };
  const Experiment e =
      read("{dataset: org/name, config: c, split: test, revision: v1, field: body}");
  ASSERT_TRUE(e.corpus.dataset);
  EXPECT_EQ(e.corpus.dataset->id, "org/name");
  EXPECT_EQ(e.corpus.dataset->config, "c");
  EXPECT_EQ(e.corpus.dataset->split, "test");
  EXPECT_EQ(e.corpus.dataset->revision, "v1");
  EXPECT_EQ(read("{dataset: org/name}").corpus.dataset->revision, "main");
  EXPECT_NE(experiment_message("name: x\ncorpus: {path: a, split: test}" + rest)
                .find("corpus.split needs dataset"),
            std::string::npos);
  EXPECT_NE(experiment_message("name: x\ncorpus: {documents: 3}" + rest)
                .find("needs either path: FILE or dataset"),
            std::string::npos);
  EXPECT_NE(experiment_message("name: x" + rest).find("key 'corpus' is missing"),
            std::string::npos);
}

TEST(Experiment, CapturedVectorsNeedNoText) {
  const auto with = [](const std::string& top, const std::string& entries) {
    return "name: x\n" + top + "phases: [{name: p, checkpoints: [" + entries + "]}]\n";
  };
  const TemporaryFolder folder;
  const Experiment e = read_experiment(folder.write("e.yaml", with("", "{label: a, vectors: v}")));
  EXPECT_TRUE(e.uses_captured_vectors());
  EXPECT_EQ(e.phases[0].checkpoints[0].vectors, "v");
  EXPECT_NE(experiment_message(with("dtype: float32\n", "{label: a, vectors: v}"))
                .find("e.yaml:2: dtype is for checkpoints with weights"),
            std::string::npos);
  EXPECT_NE(experiment_message(with("", "{label: a, vectors: v}, {label: b, path: c}"))
                .find("make two experiments"),
            std::string::npos);
  EXPECT_NE(
      experiment_message(with("", "{label: a, vectors: v, path: c}")).find("needs exactly one of"),
      std::string::npos);
}

TEST(Experiment, ModelsAreReadAsPhasesOfTheirOwn) {
  const std::string top = "name: M\ntokenizer: org/t\ncorpus: {path: t.txt}\n";
  const Experiment found = read_experiment_text(
      top +
      "models:\n  - {label: a, model: org/a, revision: step-5, context: 64, tokenizer: org/b}\n"
      "  - {label: b, path: b, config: {rope_theta: 5}}\n  - {label: c, model: org/c}\n");
  ASSERT_EQ(found.phases.size(), 3);
  EXPECT_TRUE(found.models);
  const Phase& a = found.phases[0];
  EXPECT_EQ(found.model_of(a), "org/a");
  EXPECT_EQ(found.model_line_of(a), 5);
  EXPECT_EQ(a.tokenizer, "org/b");
  EXPECT_EQ(a.contexts, std::vector<int64_t>{64});
  EXPECT_EQ(a.checkpoints.at(0).revision, "step-5");
  EXPECT_EQ(found.phases[1].config, (Json{{"rope_theta", 5.0}}));
  EXPECT_EQ(found.phases[2].checkpoints.at(0).revision, "main");

  const std::string one = top + "models:\n  - {label: a, model: org/a}\n";
  const auto says = [&](const std::string& text, const std::string& expected) {
    EXPECT_NE(experiment_message(text).find(expected), std::string::npos)
        << experiment_message(text);
  };
  says(top, "e.yaml:1: key 'phases' is missing; write phases: ");
  says(top + "models: []\n", "expected at least one model");
  says(one + "phases:\n  - {name: P, checkpoints: [{label: x, path: x}]}\n",
       "e.yaml:5: models and phases: write only one of them");
  says(one + "model: org/m\n", "e.yaml:6: model is for the checkpoints of one run, but these are");
  says(one + "axis: steps\n", "e.yaml:6: axis is for the checkpoints of one run, but these are");
  says(one + "precision: {target_se: 0.1}\n",
       "e.yaml:6: the key precision was removed; write documents: N under corpus");
  says(one + "  - {label: a, path: a}\n", "label 'a' is already in line 5");
  says(one + "  - {label: b}\n", "e.yaml:6: models: 'b' needs one of model: org/name");
  says(one + "  - {label: b, model: org/b, path: b}\n",
       "e.yaml:6: models: 'b' needs one of model: org/name");
  says(one + "  - {label: b, model: org/b, context: [8, 16]}\n", "have one context each");
  says(one + "  - {label: b, vectors: v}\n", "those here are captured vectors");
  says(one + "  - {label: b, modell: org/b}\n", "did you mean 'model'?");
}

TEST(Experiment, ASubfolderIsOneOfARevision) {
  const auto entry = [](const std::string& text) {
    const TemporaryFolder folder;
    return read_experiment(folder.write("e.yaml",
                                        "name: x\ncorpus: {path: a}\nphases: [{name: p, "
                                        "checkpoints: [{label: a, " +
                                            text + "}]}]\n"))
        .phases[0]
        .checkpoints[0];
  };
  EXPECT_EQ(entry("subfolder: hf_ckpt/16.78B").revision, "main");
  EXPECT_EQ(entry("subfolder: hf_ckpt/16.78B").subfolder, "hf_ckpt/16.78B");
  EXPECT_EQ(entry("subfolder: b, revision: v2").revision, "v2");
  EXPECT_THROW(entry("subfolder: ../b"), InputError);
  EXPECT_THROW(entry("subfolder: /b"), InputError);
  EXPECT_THROW(entry("subfolder: b, path: c"), InputError);
}

}  // namespace
}  // namespace ropewalk
