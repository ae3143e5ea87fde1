#include "ropewalk/study/experiment/experiment.h"

#include <gtest/gtest.h>

#include "ropewalk/base/error.h"
#include "tests/temporary_folder.h"

namespace ropewalk {
namespace {

constexpr const char* kWhole = R"(name: Demo
model: models/base
tokenizer: models/tokenizer.json
corpus: {path: text.jsonl, documents: 48, min_tokens: 100, field: body, id: key}
heads: {count: 300, seed: 7}
loss: true
portraits: [A, B]
figures: {statistics: [r2cv_q, abs_r_k], portraits: [[r_q, bias_context]]}
dtype: float32
device: cpu
memory: 2GiB
blocks: 8
sliding: true
vectors: uniform
components: 5
phases:
  - name: Stage 1
    context: 512
    config: {rope_theta: 5e4, rope_scaling: {rope_type: linear, factor: 2}}
    checkpoints:
      - {label: init, random: 0}
      - {label: A, revision: step-1}
  - name: Stage 2
    checkpoints:
      - label: B
        path: models/b
)";

Experiment read(const std::string& text) {
  const TemporaryFolder folder;
  folder.write("e.yaml", text);
  return read_experiment(folder.path() / "e.yaml");
}

// What is said of a file, without the folder.
std::string message(const std::string& text) {
  try {
    read(text);
  } catch (const InputError& error) {
    const std::string what = error.what();
    return what.substr(what.find("e.yaml"));
  } catch (const UsageError& error) {
    const std::string what = error.what();
    return what.substr(what.find("e.yaml"));
  }
  return "";
}

std::string changed(const std::string& from, const std::string& to) {
  std::string text = kWhole;
  const size_t offset = text.find(from);
  EXPECT_NE(offset, std::string::npos) << from;
  return text.replace(offset, from.size(), to);
}

TEST(Experiment, ReadsEverything) {
  const Experiment e = read(kWhole);
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
  EXPECT_EQ(read(kWhole).axis, TimeAxis::labels);
  EXPECT_FALSE(read(kWhole).phases[0].checkpoints[1].step);
  EXPECT_EQ(read(changed("dtype: float32", "axis: log-tokens")).axis, TimeAxis::log_tokens);
  const Experiment timed =
      read(changed("revision: step-1}", "revision: step-1, step: 7, tokens: 14000}"));
  EXPECT_EQ(timed.phases[0].checkpoints[1].step, 7);
  EXPECT_EQ(timed.phases[0].checkpoints[1].tokens, 14000);
  EXPECT_EQ(message(changed("dtype: float32", "axis: log-step")).find("e.yaml:9: axis: "), 0u);
  EXPECT_EQ(
      message(changed("revision: step-1}", "revision: step-1, step: -1}")).find("e.yaml:22: "), 0u);
}

TEST(Experiment, AListOfContextsIsSortedAndNamesLabels) {
  const Experiment e = read(changed("context: 512", "context: [2048, 512]"));
  EXPECT_EQ(e.phases[0].contexts, (std::vector<int64_t>{512, 2048}));
  CheckpointEntry entry;
  entry.label = "A";
  EXPECT_EQ(e.phases[0].labels_of(entry), (std::vector<std::string>{"A@512", "A@2048"}));
  EXPECT_EQ(e.phases[1].labels_of(entry), std::vector<std::string>{"A"});
  const Experiment one = read(changed("context: 512", "context: [512]"));
  EXPECT_EQ(one.phases[0].labels_of(entry), std::vector<std::string>{"A"});
}

TEST(Experiment, SaysWhereAndWhatToWriteInstead) {
  EXPECT_EQ(message(changed("blocks: 8", "bloks: 8")),
            "e.yaml:12: key 'bloks' is unknown; did you mean 'blocks'?");
  EXPECT_EQ(message(changed("blocks: 8", "name: Other")),
            "e.yaml:12: key 'name' is here twice; remove one");
  EXPECT_EQ(message(changed("blocks: 8", "blocks: many")),
            "e.yaml:12: blocks: found 'many', expected a whole number from 1 to 256");
  EXPECT_EQ(message(changed("blocks: 8", "blocks: 8.5")),
            "e.yaml:12: blocks: found '8.5', expected a whole number from 1 to 256");
  EXPECT_EQ(message(changed("blocks: 8", "blocks: '8'")),
            "e.yaml:12: blocks: found '8' in quotes, expected a whole number from 1 to 256; write "
            "it without the quotes");
  EXPECT_EQ(message(changed("blocks: 8", "blocks: 257")),
            "e.yaml:12: blocks: found '257', expected a whole number from 1 to 256");
  EXPECT_EQ(message(changed("name: Demo", "name: " + std::string(1 << 20, 'x'))),
            "e.yaml:1: name: found a text of 1048576 bytes, expected at most 1000");
  EXPECT_EQ(message(changed("name: Stage 1", "name: " + std::string(1001, 'x'))),
            "e.yaml:17: phases.name: found a text of 1001 bytes, expected at most 1000");
  EXPECT_EQ(message(changed("sliding: true", "sliding: maybe")),
            "e.yaml:13: sliding: found 'maybe', expected true or false");
  EXPECT_EQ(message(changed("count: 300", "cuont: 300")),
            "e.yaml:5: heads: key 'cuont' is unknown; did you mean 'count'?");
  EXPECT_EQ(message(changed("dtype: float32", "dtype: float23")),
            "e.yaml:9: dtype: found 'float23', expected auto, float32, bfloat16");
  EXPECT_EQ(message(changed("memory: 2GiB", "memory: lots")).substr(0, 17), "e.yaml:11: memory");
  EXPECT_EQ(message(changed("label: B", "label: A")),
            "e.yaml:25: label 'A' is already in line 22; give this one another");
  EXPECT_EQ(message(changed("portraits: [A, B]", "portraits: [A, b]")),
            "e.yaml:7: portraits: no checkpoint is labelled 'b'; did you mean 'B'?");
  EXPECT_EQ(message(changed("portraits: [A, B]", "portraits: [A, B, b]")),
            "e.yaml:7: portraits: no checkpoint is labelled 'b'; there are A, B, init");
  EXPECT_EQ(message(changed("[r2cv_q, abs_r_k]", "[r2cv]")),
            "e.yaml:8: figures.statistics: no statistic is named 'r2cv'; did you mean r2cv_q, "
            "r2cv_k, r2_q or r2_k?");
  EXPECT_EQ(message(changed("[r_q, bias_context]", "[r_q, bias_contxt]")),
            "e.yaml:8: figures.portraits: no statistic is named 'bias_contxt'; did you mean "
            "bias_context?");
  EXPECT_EQ(message(changed("[[r_q, bias_context]]", "[r_q, bias_context]")),
            "e.yaml:8: figures.portraits: found 'r_q', expected a list");
  EXPECT_EQ(
      message(changed("[r_q, bias_context]", "[r_q]")),
      "e.yaml:8: figures.portraits: found a list of 1, expected two statistics: [ACROSS, UP]");
  EXPECT_EQ(message(changed("figures: {statistics", "figures: {distance: [H2], statistics")),
            "e.yaml:8: figures.distance: 'H2' names no head; expected one such as L3H2, of layer "
            "3, query head 2");
  EXPECT_EQ(message(changed("figures: {statistics", "figures: {statistic")),
            "e.yaml:8: figures: key 'statistic' is unknown; did you mean 'statistics'?");
  EXPECT_EQ(message(changed("figures: {statistics: [r2cv_q, abs_r_k], portraits: [[r_q, "
                            "bias_context]]}",
                            "figures:")),
            "e.yaml:8: figures: found nothing, expected a map of statistics, distance, portraits");
  EXPECT_EQ(message(changed("name: Demo\n", "")), "e.yaml:1: key 'name' is missing");
  EXPECT_EQ(message(changed("name: Stage 2", "name: Stage 1")),
            "e.yaml:23: phases: a phase named 'Stage 1' is already in line 17; name this one "
            "differently");
  EXPECT_NE(message(changed("label: A", "label: ../A")).find("cannot be a label"),
            std::string::npos);
  EXPECT_NE(message(changed("label: A", "label: .A")).find("not starting with a dot"),
            std::string::npos);
  EXPECT_NE(message(changed("label: A", "label: " + std::string(201, 'A')))
                .find("a label of 201 characters; at most 200 can name a folder"),
            std::string::npos);
  for (const char* label : {"'a/b'", "'a b'", "ä", "'=1+1'", "'@a'", "..", "\"A\\n\"", "~"}) {
    EXPECT_NE(message(changed("label: A", std::string("label: ") + label))
                  .find("phases.checkpoints.label: "),
              std::string::npos)
        << label;
  }
  EXPECT_NE(message(changed("revision: step-1", "revision: step-1, random: 3"))
                .find("needs exactly one of path"),
            std::string::npos);
  EXPECT_NE(message(changed("corpus: {path: text.jsonl, documents: 48, min_tokens: 100, field: "
                            "body, id: key}",
                            "corpus: text.jsonl"))
                .find("write corpus: {path: FILE}"),
            std::string::npos);
  EXPECT_NE(message(changed("rope_scaling: {rope_type: linear, factor: 2}", "rope_scaling: 2"))
                .find("expected a map such as"),
            std::string::npos);
}

TEST(Experiment, AliasesThatHoldThemselvesOrMultiply) {
  const auto scaled = [](const std::string& with) {
    return message(
        changed("rope_scaling: {rope_type: linear, factor: 2}", "rope_scaling: " + with));
  };
  EXPECT_NE(scaled("&a {x: *a}").find("holds too many values, or itself"), std::string::npos);
  std::string laughs = "{a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]";
  for (int i = 1; i < 9; ++i) {
    laughs += fmt::format(", a{0}: &a{0} [*a{1}, *a{1}, *a{1}, *a{1}, *a{1}]", i, i - 1);
  }
  EXPECT_NE(scaled(laughs + "}").find("holds too many values, or itself"), std::string::npos);
}

TEST(Experiment, FilesThatAreNotExperiments) {
  EXPECT_EQ(message("name: [1\n").substr(0, 8), "e.yaml:2");
  EXPECT_NE(message("").find("empty"), std::string::npos);
  EXPECT_NE(message("!a, b\n").find("several YAML documents"), std::string::npos);
  EXPECT_EQ(message("name: x\nmodel: \"a\x04\"\n"),
            "e.yaml:2: holds a control character: found byte 0x04; remove it");
  EXPECT_NE(message("name: \"a\\e[2J\"\n").find("holds a control character; remove it"),
            std::string::npos);
  EXPECT_NE(message("name: \"a\\nb\"\n").find("holds a control character; remove it"),
            std::string::npos);
  EXPECT_NE(message("name: ' '\n").find("expected a text"), std::string::npos);
  EXPECT_NE(message("- a\n- b\n").find("found a list, expected a map of name"), std::string::npos);
  EXPECT_NE(message("name: a\n---\nname: b\n").find("several YAML documents"), std::string::npos);
  EXPECT_NE(message("name: x\ncorpus: {path: a}\nphases: []\n").find("at least one phase"),
            std::string::npos);
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
  EXPECT_NE(message("name: x\ncorpus: {path: a, split: test}" + rest)
                .find("corpus.split is for a dataset"),
            std::string::npos);
  EXPECT_NE(
      message("name: x\ncorpus: {documents: 3}" + rest).find("needs either path: FILE or dataset"),
      std::string::npos);
  EXPECT_NE(message("name: x" + rest).find("key 'corpus' is missing"), std::string::npos);
}

TEST(Experiment, CapturedVectorsNeedNoText) {
  const auto with = [](const std::string& top, const std::string& entries) {
    return "name: x\n" + top + "phases: [{name: p, checkpoints: [" + entries + "]}]\n";
  };
  const TemporaryFolder folder;
  const Experiment e = read_experiment(folder.write("e.yaml", with("", "{label: a, vectors: v}")));
  EXPECT_TRUE(e.from_vectors());
  EXPECT_EQ(e.phases[0].checkpoints[0].vectors, "v");
  EXPECT_NE(message(with("dtype: float32\n", "{label: a, vectors: v}"))
                .find("e.yaml:2: dtype is for checkpoints with weights"),
            std::string::npos);
  EXPECT_NE(message(with("", "{label: a, vectors: v}, {label: b, path: c}"))
                .find("make two experiments of them"),
            std::string::npos);
  EXPECT_NE(message(with("", "{label: a, vectors: v, path: c}")).find("needs exactly one of"),
            std::string::npos);
}

TEST(Experiment, ModelsAreReadAsPhasesOfTheirOwn) {
  const std::string top = "name: M\ntokenizer: org/t\ncorpus: {path: t.txt}\n";
  const Experiment found = read(
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
    EXPECT_NE(message(text).find(expected), std::string::npos) << message(text);
  };
  says(top, "e.yaml:1: key 'phases' is missing; write phases: ");
  says(top + "models: []\n", "expected at least one model");
  says(one + "phases:\n  - {name: P, checkpoints: [{label: x, path: x}]}\n",
       "e.yaml:5: models and phases: write one of them");
  says(one + "model: org/m\n", "e.yaml:6: model is for the checkpoints of one run, and these are");
  says(one + "axis: steps\n", "e.yaml:6: axis is for the checkpoints of one run, and these are");
  says(one + "precision: {target_se: 0.1}\n",
       "e.yaml:6: precision is no key any more; write documents: N under corpus");
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
