#include "ropewalk/study/experiment/experiment_checkpoint.h"

#include <algorithm>

#include "ropewalk/base/error.h"
#include "ropewalk/study/experiment/yaml_map.h"

namespace ropewalk {
namespace fs = std::filesystem;

std::string read_label(const YamlValue& value) {
  const std::string label = value.text();
  const bool allowed = std::all_of(label.begin(), label.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '+' ||
           c == '-';
  });
  if (label.size() > kLongestLabel) {
    value.fail(fmt::format("a label of {} characters; a folder's name can have at most {}",
                           label.size(), kLongestLabel));
  }
  if (!allowed || label.starts_with('.')) {
    value.fail(
        fmt::format("'{}' cannot be a label; use letters, digits, '.', '_', '+' and '-', "
                    "not starting with a dot",
                    label));
  }
  return label;
}

std::string read_subfolder(const YamlValue& value) {
  const fs::path path(value.text());
  for (const fs::path& name : path) {
    if (name.empty() || name == "." || name == ".." || name.has_root_directory()) {
      value.fail(fmt::format(
          "'{}' is not a folder inside a repository; write it like hf_ckpt/16.78B", path.string()));
    }
  }
  return path.string();
}

CheckpointEntry read_checkpoint(const YamlValue& value) {
  CheckpointEntry entry;
  entry.line = value.line();
  value.map({{"label", [&](const YamlValue& v) { entry.label = read_label(v); }, true},
             {"path", [&](const YamlValue& v) { entry.path = v.text(); }},
             {"revision", [&](const YamlValue& v) { entry.revision = v.text(); }},
             {"subfolder", [&](const YamlValue& v) { entry.subfolder = read_subfolder(v); }},
             {"step", [&](const YamlValue& v) { entry.step = v.integer(0, kMostTime); }},
             {"tokens", [&](const YamlValue& v) { entry.tokens = v.integer(0, kMostTime); }},
             {"random", [&](const YamlValue& v) { entry.random = v.integer(0, INT64_MAX); }},
             {"vectors", [&](const YamlValue& v) { entry.vectors = v.text(); }}});
  const bool weights = entry.revision || !entry.subfolder.empty();
  if (entry.path.has_value() + weights + entry.random.has_value() + entry.vectors.has_value() !=
      1) {
    value.fail(
        fmt::format("'{}' needs exactly one of path: FOLDER, revision: NAME (or subfolder: FOLDER "
                    "of it), random: SEED and vectors: PATH",
                    entry.label));
  }
  if (weights && !entry.revision) entry.revision = "main";
  return entry;
}

void check_text(const Experiment& experiment, const std::map<std::string, int>& lines) {
  const auto line_of = [&](const char* key) {
    const auto found = lines.find(key);
    return found == lines.end() ? 0 : found->second;
  };
  if (!experiment.uses_captured_vectors()) {
    if (line_of("corpus") > 0) return;
    throw InputError(
        "{}: key 'corpus' is missing; write corpus: {{path: FILE}}, or {{dataset: "
        "org/name, split: test}}",
        experiment.at(1));
  }
  std::vector<const char*> keys{"corpus", "tokenizer", "heads",   "dtype",   "device",
                                "memory", "blocks",    "sliding", "vectors", "probes"};
  for (const KeepOption& option : kKeepOptions) keys.push_back(option.key);
  for (const char* key : keys) {
    if (line_of(key) == 0) continue;
    throw InputError("{}: {} is for checkpoints with weights; those here are captured vectors",
                     experiment.at(line_of(key)), key);
  }
  for (const Phase& phase : experiment.phases) {
    if (phase.contexts.size() > 1) {
      throw InputError(
          "{}: several contexts are for checkpoints with weights; those here are "
          "captured vectors",
          experiment.at(phase.context_line));
    }
    const auto other = std::find_if(phase.checkpoints.begin(), phase.checkpoints.end(),
                                    [](const CheckpointEntry& entry) { return !entry.vectors; });
    if (phase.revisions || other != phase.checkpoints.end()) {
      throw InputError(
          "{}: checkpoints with weights and captured vectors have read different documents; make "
          "two experiments",
          experiment.at(phase.revisions ? phase.line : other->line));
    }
  }
}

}  // namespace ropewalk
