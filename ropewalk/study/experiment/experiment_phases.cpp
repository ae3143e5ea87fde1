#include "ropewalk/study/experiment/experiment_phases.h"

#include <algorithm>
#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/study/experiment/experiment_checkpoint.h"
#include "ropewalk/study/experiment/experiment_corpus.h"
#include "ropewalk/study/experiment/yaml_map.h"

namespace ropewalk {
namespace {

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
  value.map({{"name", [&](const YamlValue& v) { phase.name = v.title(); }, true},
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

// Checks that labels are unique, because they name folders.
class UsedLabels {
 public:
  explicit UsedLabels(const Experiment& experiment) : experiment_(experiment) {}

  void take(const CheckpointEntry& entry) {
    const auto [earlier, is_new] = lines_.try_emplace(entry.label, entry.line);
    if (is_new) return;
    throw InputError("{}: label '{}' is already in line {}; give this one another",
                     experiment_.at(entry.line), entry.label, earlier->second);
  }

 private:
  const Experiment& experiment_;
  std::map<std::string, int> lines_;
};

// Reads one model as a phase with a single checkpoint.
Phase read_model(const YamlValue& value) {
  Phase phase;
  phase.line = value.line();
  phase.context_line = value.line();
  CheckpointEntry entry;
  entry.line = value.line();
  value.map({{"label", [&](const YamlValue& v) { entry.label = read_label(v); }, true},
             {"model", [&](const YamlValue& v) { phase.model = v.text(); }},
             {"tokenizer", [&](const YamlValue& v) { phase.tokenizer = v.text(); }},
             {"context", [&](const YamlValue& v) { read_contexts(v, phase); }},
             {"config", [&](const YamlValue& v) { phase.config = read_config(v); }},
             {"path", [&](const YamlValue& v) { entry.path = v.text(); }},
             {"revision", [&](const YamlValue& v) { entry.revision = v.text(); }},
             {"subfolder", [&](const YamlValue& v) { entry.subfolder = read_subfolder(v); }},
             {"vectors", [&](const YamlValue& v) { entry.vectors = v.text(); }}});
  const bool part = entry.revision || !entry.subfolder.empty();
  if ((entry.path && (phase.model || part || entry.vectors)) || (entry.vectors && part) ||
      (!entry.path && !entry.vectors && !phase.model)) {
    value.fail(
        fmt::format("'{}' needs one of model: org/name (with revision or subfolder, where it has "
                    "them), path: FOLDER and vectors: PATH (with model, for its config)",
                    entry.label));
  }
  if (phase.contexts.size() > 1) {
    value.fail(
        fmt::format("'{}': models that are compared have one context each; measure several "
                    "contexts in an experiment with this model only",
                    entry.label));
  }
  if (!entry.path && !entry.vectors && !entry.revision) entry.revision = "main";
  phase.checkpoints.push_back(std::move(entry));
  return phase;
}

}  // namespace

void read_phases(const YamlValue& value, Experiment& experiment) {
  std::map<std::string, int> phases;
  UsedLabels labels(experiment);
  for (const YamlValue& one : value.list()) {
    Phase phase = read_phase(one);
    const auto [same, fresh] = phases.try_emplace(phase.name, phase.line);
    if (!fresh) {
      one.fail(fmt::format("a phase named '{}' is already in line {}; choose another name",
                           phase.name, same->second));
    }
    for (const CheckpointEntry& entry : phase.checkpoints) labels.take(entry);
    experiment.phases.push_back(std::move(phase));
  }
  if (experiment.phases.empty()) value.fail("expected at least one phase");
}

void read_models(const YamlValue& value, Experiment& experiment) {
  UsedLabels labels(experiment);
  for (const YamlValue& one : value.list()) {
    Phase model = read_model(one);
    labels.take(model.checkpoints.front());
    experiment.phases.push_back(std::move(model));
  }
  experiment.models = true;
  if (experiment.phases.empty()) value.fail("expected at least one model");
}

void check_phases(const Experiment& experiment, const std::map<std::string, int>& lines) {
  const int phases = lines.at("phases"), models = lines.at("models");
  if (phases == 0 && models == 0) {
    throw InputError(
        "{}: key 'phases' is missing; write phases: [{{name: …, checkpoints: […]}}], or models: "
        "[{{label: …, model: org/name}}] to measure several",
        experiment.at(1));
  }
  if (models == 0) return;
  if (phases > 0) {
    throw InputError(
        "{}: models and phases: write only one of them; models are compared with each other, "
        "phases are the training of one model",
        experiment.at(models));
  }
  const std::pair<const char*, const char*> alone[] = {{"model", "name it in each of them"},
                                                       {"axis", "remove it"}};
  for (const auto& [key, instead] : alone) {
    if (lines.at(key) == 0) continue;
    throw InputError("{}: {} is for the checkpoints of one run, but these are several models; {}",
                     experiment.at(lines.at(key)), key, instead);
  }
}

}  // namespace ropewalk
