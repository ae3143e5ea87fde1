#include "ropewalk/study/plan_vectors.h"

#include <algorithm>
#include <iterator>

#include "ropewalk/base/error.h"
#include "ropewalk/base/json.h"
#include "ropewalk/base/version.h"
#include "ropewalk/checkpoint/config_overrides.h"
#include "ropewalk/figures/head_name.h"
#include "ropewalk/model/architecture.h"
#include "ropewalk/model/describe_config.h"
#include "ropewalk/study/hub_place.h"
#include "ropewalk/study/locate.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

// The folder of a phase's config.json; nothing: it names no model.
std::optional<fs::path> locate_config(const Experiment& experiment, const Phase& phase) {
  const std::optional<std::string>& name = experiment.model_of(phase);
  if (!name) return std::nullopt;
  const fs::path folder = experiment.resolve(*name);
  const std::string line = experiment.at(experiment.model_line_of(phase));
  std::error_code ignored;
  if (fs::is_directory(folder, ignored)) return folder;
  try {
    if (is_hub_id(*name)) return find_checkpoint(shared_hub(), *name, "main").folder;
  } catch (const InputError& error) {
    throw InputError("{}: model '{}' is not a folder, and {}", line, *name, error.what());
  }
  throw InputError("{}: model '{}' is neither a folder nor a Hub model (org/name)", line, *name);
}

// What is known of the model: its config with the phase's overrides, else what vectors state.
Json describe_model(const std::optional<fs::path>& folder, const Phase& phase,
                    const VectorsSource& source) {
  int64_t layers = 0;
  for (const auto& [key, file] : source.streams) layers = std::max<int64_t>(layers, key.layer + 1);
  if (!folder) {
    const VectorsFacts facts = facts_of(source);
    return {{"layers", layers},
            {"n_q_heads", facts.n_q_heads},
            {"n_kv_heads", facts.n_kv_heads},
            {"nope_layers", Json::array()}};
  }
  const ConfigFile file(*folder / "config.json");
  const ModelConfig config = read_text_model(override_config(file, phase.config)).config;
  if (layers > config.n_layers) {
    throw InputError("{}: has vectors of layer {}, and the model of the experiment {} layers",
                     source.title, layers - 1, config.n_layers);
  }
  return describe_config(config);
}

class Planning {
 public:
  Planning(const Experiment& experiment, fs::path out)
      : experiment_(experiment), out_(std::move(out)) {}

  // Before the checkpoints of a phase; each of several models begins anew.
  void begin(const Phase& phase) {
    if (located_ && !experiment_.models) return;
    config_ = locate_config(experiment_, phase);
    located_ = true;
    first_.clear();
  }

  PlannedCheckpoint plan(const Phase& phase, const CheckpointEntry& entry) {
    const std::string place = is_hub_place(*entry.vectors)
                                  ? *entry.vectors
                                  : experiment_.resolve(*entry.vectors).string();
    PlannedCheckpoint planned;
    planned.phase = phase.name;
    planned.time = training_time(entry);
    planned.checkpoint = entry.label;
    planned.line = entry.line;
    planned.capture.label = entry.label;
    planned.capture.out = out_ / "checkpoints" / entry.label;
    planned.capture.state = out_ / "checkpoints" / ("." + entry.label + ".state");
    if (!phase.contexts.empty()) planned.capture.model.context = phase.contexts.front();
    auto vectors = std::make_shared<PlannedVectors>();
    try {
      vectors->source = find_vectors(place);
      describe(phase, entry, *vectors);
    } catch (const InputError& error) {
      throw InputError("{}: '{}': {}", experiment_.at(entry.line), entry.label, error.what());
    }
    check_alike(entry, vectors->info);
    planned.vectors = std::move(vectors);
    return planned;
  }

 private:
  void describe(const Phase& phase, const CheckpointEntry& entry, PlannedVectors& vectors) const {
    const VectorsSource& source = vectors.source;
    CaptureInfo& info = vectors.info;
    info.config = describe_model(config_, phase, source);
    const auto heads = [&](const char* key) { return info.config.at(key).get<int64_t>(); };
    require_keys(source, heads("n_q_heads") / heads("n_kv_heads"));
    info.ropewalk = version();
    info.model = experiment_.model_of(phase).value_or(
        source.repository ? source.repository->id : source.folder.filename().string());
    info.label = entry.label;
    if (source.repository) info.hub = source.name();
    info.weights = source.digest();
    info.point = kPostRope;
    info.context = phase.contexts.empty() ? 0 : phase.contexts.front();
    for (const auto& [key, file] : source.streams) {
      if (key.kind == StreamKind::query) info.heads.push_back({key.layer, key.head});
    }
  }

  void check_alike(const CheckpointEntry& entry, const CaptureInfo& info) {
    const Json& config = info.config;
    if (first_.empty()) {
      first_ = entry.label;
      first_config_ = config;
      first_heads_ = info.heads;
    }
    for (const char* key : {"n_q_heads", "n_kv_heads"}) {
      if (config.at(key) == first_config_.at(key)) continue;
      throw InputError("{}: '{}' is of another model than '{}': its {} is {}, not {}",
                       experiment_.at(entry.line), entry.label, first_, key, config.at(key).dump(),
                       first_config_.at(key).dump());
    }
    // Means over other heads would pass for a change in training.
    std::vector<QueryHead> odd;
    std::set_symmetric_difference(first_heads_.begin(), first_heads_.end(), info.heads.begin(),
                                  info.heads.end(), std::back_inserter(odd));
    if (odd.empty()) return;
    const bool here = std::binary_search(info.heads.begin(), info.heads.end(), odd.front());
    throw InputError("{}: '{}' {} head {}, which '{}' {}; expected vectors of the same heads",
                     experiment_.at(entry.line), entry.label, here ? "has" : "lacks",
                     head_name(odd.front()), first_, here ? "lacks" : "has");
  }

  const Experiment& experiment_;
  fs::path out_;
  std::optional<fs::path> config_;
  bool located_ = false;
  std::string first_;  // label
  Json first_config_;
  std::vector<QueryHead> first_heads_;  // in order
};

}  // namespace

StudyPlan list_vectors(const Experiment& experiment, const fs::path& out, bool keep_going) {
  StudyPlan plan;
  plan.texts.emplace_back();
  Planning planning(experiment, out);
  for (const Phase& phase : experiment.phases) {
    for (const CheckpointEntry& entry : phase.checkpoints) {
      try {
        planning.begin(phase);
        plan.checkpoints.push_back(planning.plan(phase, entry));
        if (!experiment.models) {
          plan.checkpoints.back().order = static_cast<int64_t>(plan.checkpoints.size()) - 1;
        }
        for (const int64_t context : phase.contexts) {
          int64_t& longest = plan.texts.front().longest_context;
          longest = std::max(longest, context);
        }
      } catch (const std::runtime_error&) {
        if (!keep_going) throw;
        plan.failures.push_back({entry.label, std::current_exception()});
      }
    }
  }
  return plan;
}

StudyPlan plan_vectors(const Experiment& experiment, const fs::path& out, bool keep_going) {
  StudyPlan plan = list_vectors(experiment, out, keep_going);
  if (plan.checkpoints.empty()) {
    throw InputError("{}: no checkpoint can be measured; '{}': {}", experiment.file.string(),
                     plan.failures.front().label, plan.failures.front().text());
  }
  return plan;
}

}  // namespace ropewalk
