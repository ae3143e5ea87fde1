#include "ropewalk/study/experiment.h"

#include <algorithm>
#include <map>

#include "ropewalk/analysis/context_label.h"
#include "ropewalk/base/error.h"
#include "ropewalk/base/units.h"
#include "ropewalk/figures/head_name.h"
#include "ropewalk/figures/reading_look.h"
#include "ropewalk/study/analyze.h"
#include "ropewalk/study/experiment_checkpoint.h"
#include "ropewalk/study/experiment_corpus.h"
#include "ropewalk/study/yaml_map.h"

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

Json read_config(const YamlValue& value) {
  const auto keep = [](Json& config, const char* key) {
    return [&config, key](const YamlValue& v) { config[key] = v.json(); };
  };
  Json config = Json::object();
  value.map(
      {{"rope_theta", [&](const YamlValue& v) { config["rope_theta"] = v.positive(); }},
       {"rope_scaling", keep(config, "rope_scaling")},
       {"max_position_embeddings",
        [&](const YamlValue& v) { config["max_position_embeddings"] = v.integer(1, kMostTokens); }},
       {"sliding_window", [&](const YamlValue& v) {
          config["sliding_window"] = v.is_null() ? Json() : Json(v.integer(1, kMostTokens));
        }}});
  if (config.contains("rope_scaling") && !config["rope_scaling"].is_object() &&
      !config["rope_scaling"].is_null()) {
    value.fail("rope_scaling: expected a map such as {rope_type: linear, factor: 2}, or null");
  }
  return config;
}

void read_contexts(const YamlValue& value, Phase& phase) {
  constexpr int64_t kLeast = 2;
  constexpr size_t kMost = 64;
  phase.context_line = value.line();
  if (!value.is_list()) {
    phase.contexts = {value.integer(kLeast, kMostTokens)};
    return;
  }
  for (const YamlValue& one : value.list()) {
    const int64_t context = one.integer(kLeast, kMostTokens);
    if (std::find(phase.contexts.begin(), phase.contexts.end(), context) != phase.contexts.end()) {
      one.fail(fmt::format("{} is in the list twice; remove one", context));
    }
    phase.contexts.push_back(context);
  }
  if (phase.contexts.empty())
    value.fail("the list is empty; write context: 4096, or a list of them");
  if (phase.contexts.size() > kMost) {
    value.fail(fmt::format("{} contexts; at most {}", phase.contexts.size(), kMost));
  }
  std::sort(phase.contexts.begin(), phase.contexts.end());
}

Phase read_phase(const YamlValue& value) {
  Phase phase;
  phase.line = value.line();
  value.map({{"name", [&](const YamlValue& v) { phase.name = v.text(); }, true},
             {"context", [&](const YamlValue& v) { read_contexts(v, phase); }},
             {"config", [&](const YamlValue& v) { phase.config = read_config(v); }},
             {"revisions", [&](const YamlValue& v) { phase.revisions = v.text(); }},
             {"checkpoints", [&](const YamlValue& v) {
                for (const YamlValue& one : v.list())
                  phase.checkpoints.push_back(read_checkpoint(one));
              }}});
  if (phase.revisions.has_value() == !phase.checkpoints.empty()) {
    value.fail(
        fmt::format("'{}' needs either checkpoints: [{{label: …, path: …}}, …] or revisions: "
                    "\"pattern\"",
                    phase.name));
  }
  return phase;
}

void read_phases(const YamlValue& value, Experiment& experiment) {
  std::map<std::string, int> phases;
  std::map<std::string, int> labels;
  for (const YamlValue& one : value.list()) {
    Phase phase = read_phase(one);
    const auto [same, fresh] = phases.try_emplace(phase.name, phase.line);
    if (!fresh) {
      one.fail(fmt::format("a phase named '{}' is already in line {}; name this one differently",
                           phase.name, same->second));
    }
    for (const CheckpointEntry& entry : phase.checkpoints) {
      const auto [earlier, is_new] = labels.try_emplace(entry.label, entry.line);
      if (!is_new) {
        throw InputError("{}: label '{}' is already in line {}; give this one another",
                         experiment.at(entry.line), entry.label, earlier->second);
      }
    }
    experiment.phases.push_back(std::move(phase));
  }
  if (experiment.phases.empty()) value.fail("expected at least one phase");
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
  if (const std::string problem = unknown_statistic(key); !problem.empty()) value.fail(problem);
  return key;
}

void read_figures(const YamlValue& value, Experiment& experiment) {
  AskedFigures& figures = experiment.figures;
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
                  if (!head) one.fail(not_a_head(one.text()));
                  figures.distance.push_back(*head);
                }
              }},
             {"portraits", [&](const YamlValue& v) {
                for (const YamlValue& one : v.list()) {
                  const std::vector<YamlValue> pair = one.list();
                  if (pair.size() != 2) {
                    one.fail(fmt::format(
                        "found a list of {}, expected two statistics: [ACROSS, UP]", pair.size()));
                  }
                  figures.portraits.emplace_back(read_statistic(pair[0]), read_statistic(pair[1]));
                }
              }}});
}

void check_portraits(const Experiment& experiment, const std::map<std::string, int>& lines) {
  std::vector<std::string> labels;
  for (const Phase& phase : experiment.phases) {
    if (phase.revisions) return;  // labels are known once the revisions are
    for (const CheckpointEntry& entry : phase.checkpoints) {
      labels.push_back(entry.label);
      for (const std::string& label : phase.labels_of(entry)) labels.push_back(label);
    }
  }
  for (const std::string& label : experiment.portraits) {
    if (std::find(labels.begin(), labels.end(), label) != labels.end()) continue;
    const std::string near = nearest(label, {labels.begin(), labels.end()});
    throw InputError("{}: portraits: no checkpoint is labelled '{}'{}",
                     experiment.at(lines.at(label)), label,
                     near.empty() ? "; write one of the labels under phases"
                                  : fmt::format("; did you mean '{}'?", near));
  }
}

}  // namespace

std::vector<std::string> Phase::labels_of(const CheckpointEntry& entry) const {
  if (contexts.size() < 2) return {entry.label};
  std::vector<std::string> labels;
  for (const int64_t context : contexts) labels.push_back(label_at(entry.label, context));
  return labels;
}

bool Experiment::from_vectors() const {
  return std::any_of(phases.begin(), phases.end(), [](const Phase& phase) {
    return std::any_of(phase.checkpoints.begin(), phase.checkpoints.end(),
                       [](const CheckpointEntry& entry) { return entry.vectors.has_value(); });
  });
}

std::string Experiment::at(int line) const { return fmt::format("{}:{}", file.string(), line); }

fs::path Experiment::resolve(const fs::path& path) const {
  if (path.is_absolute()) return path;
  return (fs::absolute(file).parent_path() / path).lexically_normal();
}

Experiment read_experiment(const fs::path& file) {
  Experiment experiment;
  experiment.file = file;
  std::map<std::string, int> portrait_lines;
  std::vector<YamlValue::Key> keys = {
      {"name", [&](const YamlValue& v) { experiment.name = v.text(); }, true},
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
       [&](const YamlValue& v) {
         v.map({{"target_se", [&](const YamlValue& se) { experiment.target_se = se.positive(); },
                 true}});
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
         experiment.device = v.text();  // checked where the machine is known
         experiment.device_line = v.line();
       }},
      {"memory",
       [&](const YamlValue& v) {
         experiment.memory = read_memory(v);
         experiment.memory_line = v.line();
       }},
      {"blocks", [&](const YamlValue& v) { experiment.blocks = v.integer(1, 4096); }},
      {"sliding", [&](const YamlValue& v) { experiment.sliding = v.flag(); }},
      {"pre_rope", [&](const YamlValue& v) { experiment.pre_rope = v.flag(); }},
      {"plasticity", [&](const YamlValue& v) { experiment.plasticity = v.flag(); }},
      {"vectors",
       [&](const YamlValue& v) {
         experiment.vectors = v.word({"uniform", "log-uniform", "all"});
       }},
      {"components",
       [&](const YamlValue& v) { experiment.components = v.integer(1, kMostComponents); }},
      {"phases", [&](const YamlValue& v) { read_phases(v, experiment); }, true}};
  std::map<std::string, int> lines;
  for (YamlValue::Key& key : keys) {
    key.read = [read = key.read, &line = lines[std::string(key.name)]](const YamlValue& v) {
      line = v.line();
      read(v);
    };
  }
  read_yaml(file).map(keys);
  check_text(experiment, lines);
  check_portraits(experiment, portrait_lines);
  return experiment;
}

}  // namespace ropewalk
