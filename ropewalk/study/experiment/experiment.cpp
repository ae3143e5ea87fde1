#include "ropewalk/study/experiment/experiment.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "ropewalk/analysis/run/context_label.h"
#include "ropewalk/base/error.h"
#include "ropewalk/base/printable.h"
#include "ropewalk/base/units.h"
#include "ropewalk/figures/parts/head_name.h"
#include "ropewalk/figures/parts/view_look.h"
#include "ropewalk/study/experiment/experiment_ablate.h"
#include "ropewalk/study/experiment/experiment_checkpoint.h"
#include "ropewalk/study/experiment/experiment_corpus.h"
#include "ropewalk/study/experiment/experiment_phases.h"
#include "ropewalk/study/experiment/limits.h"
#include "ropewalk/study/experiment/ready_made.h"
#include "ropewalk/study/experiment/yaml_map.h"
#include "ropewalk/study/source/backend_model.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

int64_t read_memory(const YamlValue& value) {
  try {
    return parse_bytes(value.text(), value.where() + ": memory");
  } catch (const UsageError& error) {
    throw InputError("{}", error.what());
  }
}

void read_heads(const YamlValue& value, Experiment& experiment) {
  value.map(
      {{"count", [&](const YamlValue& v) { experiment.head_count = v.integer(1, INT64_MAX); },
        true},
       {"seed", [&](const YamlValue& v) { experiment.head_seed = v.integer(0, INT64_MAX); }}});
}

void read_portraits(const YamlValue& value, Experiment& experiment,
                    std::map<std::string, int>& lines) {
  for (const YamlValue& one : value.list()) {
    experiment.portraits.push_back(one.text());
    lines.try_emplace(one.text(), one.line());
  }
}

std::string read_statistic(const YamlValue& value) {
  std::string key = value.text();
  if (const std::string problem = unknown_statistic_error(key); !problem.empty())
    value.fail(problem);
  return key;
}

void read_figures(const YamlValue& value, Experiment& experiment) {
  RequestedFigures& figures = experiment.figures;
  value.map({{"statistics",
              [&](const YamlValue& v) {
                for (const YamlValue& one : v.list()) {
                  figures.statistics.push_back(read_statistic(one));
                }
              }},
             {"distance",
              [&](const YamlValue& v) {
                for (const YamlValue& one : v.list()) {
                  const auto head = find_head(one.text());
                  if (!head) one.fail(unknown_head_error(one.text()));
                  figures.distance.push_back(*head);
                }
              }},
             {"portraits", [&](const YamlValue& v) {
                for (const YamlValue& one : v.list()) {
                  const std::vector<YamlValue> pair = one.list();
                  if (pair.size() != 2) {
                    one.fail(fmt::format("found a list of {}, expected two statistics: [X, Y]",
                                         pair.size()));
                  }
                  figures.portraits.emplace_back(read_statistic(pair[0]), read_statistic(pair[1]));
                }
              }}});
}

void read_keep(const YamlValue& value, bool& member) { member = value.flag(); }

void read_keep(const YamlValue& value, KeepCount& member) {
  const Json json = value.json();
  const std::string text = json.is_string() ? json.get<std::string>() : json.dump();
  const std::optional<KeepCount> count = parse_keep_count(text);
  if (!count) value.fail(fmt::format("found {}, {}", json.dump(), kKeepCountExpected));
  member = *count;
}

// The keys that say what captures keep.
void add_keep_options(std::vector<YamlValue::Key>& keys, Experiment& experiment) {
  for (const KeepOption& option : kKeepOptions) {
    keys.push_back({option.key, [&](const YamlValue& value) {
                      experiment.named.insert(option.key);
                      option.visit(experiment.keep,
                                   [&](auto& member) { read_keep(value, member); });
                    }});
  }
}

void check_portraits(const Experiment& experiment, const std::map<std::string, int>& lines) {
  std::vector<std::string> labels;
  for (const Phase& phase : experiment.phases) {
    if (phase.revisions) return;  // labels are only known after the revisions are listed
    for (const CheckpointEntry& entry : phase.checkpoints) {
      labels.push_back(entry.label);
      for (const std::string& label : phase.labels_of(entry)) labels.push_back(label);
    }
  }
  for (const std::string& label : experiment.portraits) {
    if (std::find(labels.begin(), labels.end(), label) != labels.end()) continue;
    std::vector<std::string_view> others;  // figures without their own portrait
    for (const std::string& known : labels) {
      const auto& asked = experiment.portraits;
      if (std::find(asked.begin(), asked.end(), known) == asked.end()) others.push_back(known);
    }
    const std::string near = nearest(label, others);
    const std::set<std::string> known(labels.begin(), labels.end());
    throw InputError(
        "{}: portraits: no checkpoint is labelled '{}'{}", experiment.at(lines.at(label)), label,
        near.empty()
            ? "; there are " + printable_excerpt(fmt::format("{}", fmt::join(known, ", ")), 400)
            : fmt::format("; did you mean '{}'?", near));
  }
}

// What only our own pass does.
void check_backend(const Experiment& experiment, const std::map<std::string, int>& lines) {
  const auto refuse = [&](const char* key, const char* why) {
    throw InputError("{}: {}: {}", experiment.at(lines.at(key)), key, why);
  };
  if (experiment.backend != kTransformers) {
    if (experiment.trust_remote_code) {
      refuse("trust_remote_code", "is for backend: transformers, which is not here; remove it");
    }
    return;
  }
  constexpr const char* kOwnPass =
      "needs Ropewalk's own pass; remove it, or backend: transformers for a family of ours";
  if (experiment.ablate) refuse("ablate", kOwnPass);
  if (experiment.keep.loss) refuse("loss", kOwnPass);
  if (experiment.vectors) refuse("vectors", kOwnPass);
}

}  // namespace

std::vector<std::string> Phase::labels_of(const CheckpointEntry& entry) const {
  if (contexts.size() < 2) return {entry.label};
  std::vector<std::string> labels;
  for (const int64_t context : contexts) labels.push_back(label_at(entry.label, context));
  return labels;
}

bool Experiment::uses_captured_vectors() const {
  return std::any_of(phases.begin(), phases.end(), [](const Phase& phase) {
    return std::any_of(phase.checkpoints.begin(), phase.checkpoints.end(),
                       [](const CheckpointEntry& entry) { return entry.vectors.has_value(); });
  });
}

const std::optional<std::string>& Experiment::model_of(const Phase& phase) const {
  return phase.model ? phase.model : model;
}

int Experiment::model_line_of(const Phase& phase) const {
  return phase.model ? phase.line : model_line;
}

fs::path Experiment::folder_in(const fs::path& folder, const CheckpointEntry& entry) const {
  // Without a revision of its own, a subfolder belongs to the model's; for one of several models it
  // is the folder itself.
  const bool inside = *entry.revision == "main" && (models || !entry.subfolder.empty());
  const fs::path found = inside ? folder : folder / *entry.revision;
  return (entry.subfolder.empty() ? found : found / entry.subfolder).lexically_normal();
}

std::string Experiment::at(int line) const { return fmt::format("{}:{}", file.string(), line); }

fs::path Experiment::resolve(const fs::path& path) const {
  if (path.is_absolute()) return path;
  return (fs::absolute(file).parent_path() / path).lexically_normal();
}

Experiment read_experiment(const fs::path& asked) {
  const fs::path file = find_experiment(asked);
  Experiment experiment;
  experiment.file = file;
  std::map<std::string, int> portrait_lines;
  std::vector<YamlValue::Key> keys = {
      {"name", [&](const YamlValue& v) { experiment.name = v.title(); }, true},
      {"model",
       [&](const YamlValue& v) {
         experiment.model = v.text();
         experiment.model_line = v.line();
       }},
      {"tokenizer",
       [&](const YamlValue& v) {
         experiment.tokenizer = v.text();
         experiment.tokenizer_line = v.line();
       }},
      {"corpus", [&](const YamlValue& v) { read_corpus(v, experiment); }},
      {"heads", [&](const YamlValue& v) { read_heads(v, experiment); }},
      {"precision",
       [](const YamlValue& v) {
         throw UsageError(
             "{}: the key precision was removed; write documents: N under corpus: the end of a run "
             "says how many a standard error of 0.005 needs, and existing captures are extended",
             v.where());
       }},
      {"portraits", [&](const YamlValue& v) { read_portraits(v, experiment, portrait_lines); }},
      {"figures", [&](const YamlValue& v) { read_figures(v, experiment); }},
      {"axis", [&](const YamlValue& v) { experiment.axis = time_axis(v.word(kTimeAxes)); }},
      {"dtype",
       [&](const YamlValue& v) {
         experiment.dtype = v.word({"auto", "float32", "bfloat16"});
       }},
      {"device",
       [&](const YamlValue& v) {
         experiment.device = v.text();  // checked later, on the machine that runs the experiment
         experiment.device_line = v.line();
       }},
      {"backend",
       [&](const YamlValue& v) {
         experiment.backend = v.word({kBackends.begin(), kBackends.end()});
       }},
      {"trust_remote_code", [&](const YamlValue& v) { experiment.trust_remote_code = v.flag(); }},
      {"memory",
       [&](const YamlValue& v) {
         experiment.memory = read_memory(v);
         experiment.memory_line = v.line();
       }},
      {"blocks", [&](const YamlValue& v) { experiment.blocks = v.integer(1, kMostBlocks); }},
      {"sliding", [&](const YamlValue& v) { experiment.sliding = v.flag(); }},
      {"ablate", [&](const YamlValue& v) { read_ablate(v, experiment); }},
      {"probes",
       [&](const YamlValue& v) {
         experiment.probes = v.flag();
         experiment.probes_line = v.line();
       }},
      {"vectors",
       [&](const YamlValue& v) {
         experiment.vectors = v.word({"uniform", "log-uniform", "all"});
       }},
      {"components",
       [&](const YamlValue& v) { experiment.components = v.integer(1, kMostComponents); }},
      {"phases", [&](const YamlValue& v) { read_phases(v, experiment); }},
      {"models", [&](const YamlValue& v) { read_models(v, experiment); }}};
  add_keep_options(keys, experiment);
  std::map<std::string, int> lines;
  for (YamlValue::Key& key : keys) {
    key.read = [read = key.read, &line = lines[std::string(key.name)]](const YamlValue& v) {
      line = v.line();
      read(v);
    };
  }
  experiment.text = read_yaml_text(file);
  parse_yaml(experiment.text, file).map(keys);
  check_phases(experiment, lines);
  check_text(experiment, lines);
  check_portraits(experiment, portrait_lines);
  check_ablate(experiment);
  check_backend(experiment, lines);
  return experiment;
}

}  // namespace ropewalk
