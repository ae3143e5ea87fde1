#include <gtest/gtest.h>

#include "ropewalk/base/error.h"
#include "tests/study/experiment/experiment_text.h"
#include "tests/temporary_folder.h"

namespace ropewalk {
namespace {

TEST(ExperimentMistakes, SaysWhereAndWhatToWriteInstead) {
  EXPECT_EQ(experiment_message(changed_experiment("blocks: 8", "bloks: 8")),
            "e.yaml:12: key 'bloks' is unknown; did you mean 'blocks'?");
  EXPECT_EQ(experiment_message(changed_experiment("blocks: 8", "name: Other")),
            "e.yaml:12: duplicate key 'name'; remove one");
  EXPECT_EQ(experiment_message(changed_experiment("blocks: 8", "blocks: many")),
            "e.yaml:12: blocks: found 'many', expected a whole number from 1 to 256");
  EXPECT_EQ(experiment_message(changed_experiment("blocks: 8", "blocks: 8.5")),
            "e.yaml:12: blocks: found '8.5', expected a whole number from 1 to 256");
  EXPECT_EQ(experiment_message(changed_experiment("blocks: 8", "blocks: '8'")),
            "e.yaml:12: blocks: found '8' in quotes, expected a whole number from 1 to 256; write "
            "it without the quotes");
  EXPECT_EQ(experiment_message(changed_experiment("blocks: 8", "blocks: 257")),
            "e.yaml:12: blocks: found '257', expected a whole number from 1 to 256");
  EXPECT_EQ(
      experiment_message(changed_experiment("name: Demo", "name: " + std::string(1 << 20, 'x'))),
      "e.yaml:1: name: found a text of 1048576 bytes, expected at most 1000");
  EXPECT_EQ(
      experiment_message(changed_experiment("name: Stage 1", "name: " + std::string(1001, 'x'))),
      "e.yaml:17: phases.name: found a text of 1001 bytes, expected at most 1000");
  EXPECT_EQ(experiment_message(changed_experiment("sliding: true", "sliding: maybe")),
            "e.yaml:13: sliding: found 'maybe', expected true or false");
  EXPECT_EQ(experiment_message(changed_experiment("count: 300", "cuont: 300")),
            "e.yaml:5: heads: key 'cuont' is unknown; did you mean 'count'?");
  EXPECT_EQ(experiment_message(changed_experiment("dtype: float32", "dtype: float23")),
            "e.yaml:9: dtype: found 'float23', expected auto, float32, bfloat16");
  EXPECT_EQ(experiment_message(changed_experiment("memory: 2GiB", "memory: lots")).substr(0, 17),
            "e.yaml:11: memory");
  EXPECT_EQ(experiment_message(changed_experiment("label: B", "label: A")),
            "e.yaml:25: label 'A' is already in line 22; give this one another");
  EXPECT_EQ(experiment_message(changed_experiment("portraits: [A, B]", "portraits: [A, b]")),
            "e.yaml:7: portraits: no checkpoint is labelled 'b'; did you mean 'B'?");
  EXPECT_EQ(experiment_message(changed_experiment("portraits: [A, B]", "portraits: [A, B, b]")),
            "e.yaml:7: portraits: no checkpoint is labelled 'b'; there are A, B, init");
  EXPECT_EQ(experiment_message(changed_experiment("[r2cv_q, abs_r_k]", "[r2cv]")),
            "e.yaml:8: figures.statistics: no statistic is named 'r2cv'; did you mean r2cv_q, "
            "r2cv_k, r2_q or r2_k?");
  EXPECT_EQ(experiment_message(changed_experiment("[r_q, bias_context]", "[r_q, bias_contxt]")),
            "e.yaml:8: figures.portraits: no statistic is named 'bias_contxt'; did you mean "
            "bias_context?");
  EXPECT_EQ(experiment_message(changed_experiment("[[r_q, bias_context]]", "[r_q, bias_context]")),
            "e.yaml:8: figures.portraits: found 'r_q', expected a list");
  EXPECT_EQ(experiment_message(changed_experiment("[r_q, bias_context]", "[r_q]")),
            "e.yaml:8: figures.portraits: found a list of 1, expected two statistics: [X, Y]");
  EXPECT_EQ(experiment_message(
                changed_experiment("figures: {statistics", "figures: {distance: [H2], statistics")),
            "e.yaml:8: figures.distance: 'H2' is not a head; expected for example L3H2 for layer "
            "3, query head 2");
  EXPECT_EQ(experiment_message(changed_experiment("figures: {statistics", "figures: {statistic")),
            "e.yaml:8: figures: key 'statistic' is unknown; did you mean 'statistics'?");
  EXPECT_EQ(experiment_message(
                changed_experiment("figures: {statistics: [r2cv_q, abs_r_k], portraits: [[r_q, "
                                   "bias_context]]}",
                                   "figures:")),
            "e.yaml:8: figures: found nothing, expected a map of statistics, distance, portraits");
  EXPECT_EQ(experiment_message(changed_experiment("name: Demo\n", "")),
            "e.yaml:1: key 'name' is missing");
  EXPECT_EQ(
      experiment_message(changed_experiment("name: Stage 2", "name: Stage 1")),
      "e.yaml:23: phases: a phase named 'Stage 1' is already in line 17; choose another name");
  EXPECT_NE(
      experiment_message(changed_experiment("label: A", "label: ../A")).find("cannot be a label"),
      std::string::npos);
  EXPECT_NE(experiment_message(changed_experiment("label: A", "label: .A"))
                .find("not starting with a dot"),
            std::string::npos);
  EXPECT_NE(experiment_message(changed_experiment("label: A", "label: " + std::string(201, 'A')))
                .find("a label of 201 characters; a folder's name can have at most 200"),
            std::string::npos);
  for (const char* label : {"'a/b'", "'a b'", "ä", "'=1+1'", "'@a'", "..", "\"A\\n\"", "~"}) {
    EXPECT_NE(experiment_message(changed_experiment("label: A", std::string("label: ") + label))
                  .find("phases.checkpoints.label: "),
              std::string::npos)
        << label;
  }
  EXPECT_NE(
      experiment_message(changed_experiment("revision: step-1", "revision: step-1, random: 3"))
          .find("needs exactly one of path"),
      std::string::npos);
  EXPECT_NE(
      experiment_message(
          changed_experiment("corpus: {path: text.jsonl, documents: 48, min_tokens: 100, field: "
                             "body, id: key}",
                             "corpus: text.jsonl"))
          .find("write corpus: {path: FILE}"),
      std::string::npos);
  EXPECT_NE(experiment_message(changed_experiment("rope_scaling: {rope_type: linear, factor: 2}",
                                                  "rope_scaling: 2"))
                .find("expected a map such as"),
            std::string::npos);
}

TEST(ExperimentMistakes, AliasesThatHoldThemselvesOrMultiply) {
  const auto scaled = [](const std::string& with) {
    return experiment_message(changed_experiment("rope_scaling: {rope_type: linear, factor: 2}",
                                                 "rope_scaling: " + with));
  };
  EXPECT_NE(scaled("&a {x: *a}").find("holds too many values, or itself"), std::string::npos);
  std::string laughs = "{a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]";
  for (int i = 1; i < 9; ++i) {
    laughs += fmt::format(", a{0}: &a{0} [*a{1}, *a{1}, *a{1}, *a{1}, *a{1}]", i, i - 1);
  }
  EXPECT_NE(scaled(laughs + "}").find("holds too many values, or itself"), std::string::npos);
}

TEST(ExperimentMistakes, FilesThatAreNotExperiments) {
  EXPECT_EQ(experiment_message("name: [1\n").substr(0, 8), "e.yaml:2");
  EXPECT_NE(experiment_message("").find("empty"), std::string::npos);
  EXPECT_NE(experiment_message("!a, b\n").find("several YAML documents"), std::string::npos);
  EXPECT_EQ(experiment_message("name: x\nmodel: \"a\x04\"\n"),
            "e.yaml:2: holds a control character: found byte 0x04; remove it");
  EXPECT_NE(experiment_message("name: \"a\\e[2J\"\n").find("holds a control character; remove it"),
            std::string::npos);
  EXPECT_NE(experiment_message("name: \"a\\nb\"\n").find("holds a control character; remove it"),
            std::string::npos);
  EXPECT_NE(experiment_message("name: ' '\n").find("expected a text"), std::string::npos);
  EXPECT_NE(experiment_message("- a\n- b\n").find("found a list, expected a map of name"),
            std::string::npos);
  EXPECT_NE(experiment_message("name: a\n---\nname: b\n").find("several YAML documents"),
            std::string::npos);
  EXPECT_NE(
      experiment_message("name: x\ncorpus: {path: a}\nphases: []\n").find("at least one phase"),
      std::string::npos);
}

}  // namespace
}  // namespace ropewalk
