#pragma once

#include <gtest/gtest.h>

#include <string>

#include "ropewalk/base/error.h"
#include "ropewalk/study/experiment/experiment.h"
#include "tests/temporary_folder.h"

namespace ropewalk {

inline constexpr const char* kExperimentText = R"(name: Demo
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

inline Experiment read_experiment_text(const std::string& text) {
  const TemporaryFolder folder;
  folder.write("e.yaml", text);
  return read_experiment(folder.path() / "e.yaml");
}

// The error about a file, without the folder's name.
inline std::string experiment_message(const std::string& text) {
  try {
    read_experiment_text(text);
  } catch (const InputError& error) {
    const std::string what = error.what();
    return what.substr(what.find("e.yaml"));
  } catch (const UsageError& error) {
    const std::string what = error.what();
    return what.substr(what.find("e.yaml"));
  }
  return "";
}

inline std::string changed_experiment(const std::string& from, const std::string& to) {
  std::string text = kExperimentText;
  const size_t index = text.find(from);
  EXPECT_NE(index, std::string::npos) << from;
  return text.replace(index, from.size(), to);
}

}  // namespace ropewalk
