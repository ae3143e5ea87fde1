#include "ropewalk/study/run/plan.h"

#include <algorithm>
#include <map>
#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/base/log.h"
#include "ropewalk/model/device.h"
#include "ropewalk/study/capture/capture_vectors.h"
#include "ropewalk/study/run/checkpoint_location.h"
#include "ropewalk/study/run/plan_checks.h"
#include "ropewalk/study/source/hub_uri.h"
#include "ropewalk/study/source/locate.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

void check_device(const Experiment& experiment, const Communicator& processes) {
  try {
    parse_device(experiment.device, processes);
  } catch (const SystemError& error) {
    throw SystemError("{}: {}", experiment.at(experiment.device_line), error.what());
  } catch (const UsageError& error) {
    throw InputError("{}: {}", experiment.at(experiment.device_line), error.what());
  }
}

// Opens a checkpoint's config, and its weights where they are on this machine. An error names the
// checkpoint's line.
OpenModel open_planned(const Experiment& experiment, const PlannedCheckpoint& planned) {
  const ModelOptions& options = planned.capture.model;
  try {
    return options.hub ? open_without_weights(options) : open_model(options);
  } catch (const UsageError& error) {
    throw InputError("{}: '{}': {}", experiment.at(planned.line), planned.capture.label,
                     error.what());
  }
}

// The contexts at which a checkpoint of a phase is measured; empty: its own context.
std::vector<std::optional<int64_t>> contexts_of(const Phase& phase) {
  if (phase.contexts.empty()) return {std::nullopt};
  return {phase.contexts.begin(), phase.contexts.end()};
}

CaptureOptions capture_options(const Experiment& experiment, const Phase& phase,
                               const CheckpointEntry& entry, const std::string& label,
                               const fs::path& out) {
  CaptureOptions options;
  options.model.heads = experiment.head_count;
  options.model.seed = experiment.head_seed;
  options.model.sliding = experiment.sliding;
  options.model.device = experiment.device;
  options.model.dtype = experiment.dtype;
  options.model.memory = experiment.memory;
  options.model.backend = experiment.backend;
  options.model.trust_remote_code = experiment.trust_remote_code;
  options.model.config = phase.config;
  options.model.random = entry.random;
  options.model.from_file = true;
  options.label = label;
  options.blocks = experiment.blocks;
  options.keep = experiment.keep;
  options.model.head = experiment.keep.loss;
  options.model.scores = experiment.keep.rows.number > 0;
  options.vectors = experiment.vectors;
  options.title = label;
  options.out = out / "checkpoints" / label;
  options.state = out / "checkpoints" / ("." + label + ".state");
  return options;
}

FoundVectors plan_vectors(const Experiment& experiment, const Phase& phase,
                          const CheckpointEntry& entry) {
  VectorsOptions options;
  options.from =
      is_hub_uri(*entry.vectors) ? *entry.vectors : experiment.resolve(*entry.vectors).string();
  if (const std::optional<std::string>& name = experiment.model_of(phase)) {
    options.model = locate_checkpoint(experiment, phase, entry).folder;
    options.model_name = *name;
  }
  options.config = phase.config;
  options.label = entry.label;
  options.context = phase.contexts.empty() ? 0 : phase.contexts.front();
  try {
    return describe_vectors(options);
  } catch (const InputError& error) {
    throw InputError("{}: '{}': {}", experiment.at(entry.line), entry.label, error.what());
  }
}

// The documents for a checkpoint: those of an earlier checkpoint where they fit, else a new entry
// of the plan.
size_t find_or_add_text(const Experiment& experiment, const Phase& phase, const OpenModel& model,
                        StudyPlan& plan) {
  // With `ablate`, the head must have a logit for every token.
  const int64_t vocabulary =
      experiment.ablate ? model.text.config.vocabulary_size : model.known_words();
  const TextPlan own{phase.tokenizer ? phase.tokenizer : experiment.tokenizer,
                     phase.tokenizer ? phase.line : experiment.tokenizer_line, model.context,
                     vocabulary};
  const auto shares = [&](const TextPlan& text) {
    return !experiment.models || (own.tokenizer && text.tokenizer == own.tokenizer &&
                                  text.longest_context == own.longest_context);
  };
  auto found = std::find_if(plan.texts.begin(), plan.texts.end(), shares);
  if (found == plan.texts.end()) found = plan.texts.insert(found, own);
  found->longest_context = std::max(found->longest_context, model.context);
  found->vocabulary = std::min(found->vocabulary, vocabulary);
  return static_cast<size_t>(found - plan.texts.begin());
}

// The documents of a run are chosen for the longest context in the file, so that a checkpoint that
// is missing today does not change the documents of the others.
void count_stated_contexts(const Experiment& experiment, StudyPlan& plan) {
  if (experiment.models) return;  // models have documents of their own
  int64_t& longest = plan.texts.front().longest_context;
  for (const Phase& phase : experiment.phases) {
    for (const int64_t context : phase.contexts) longest = std::max(longest, context);
  }
}

// Numbers the checkpoints for tables. Consecutive phases with the same list of contexts are listed
// once per context, so that each context reads like a run.
void number_by_context(const Experiment& experiment, std::vector<PlannedCheckpoint>& checkpoints) {
  std::map<std::string, size_t> parts;  // the first and the last index of the run, per phase
  for (size_t i = 0; i < experiment.phases.size(); ++i) {
    const Phase& phase = experiment.phases[i];
    const bool joins =
        i > 0 && phase.contexts.size() > 1 && phase.contexts == experiment.phases[i - 1].contexts;
    parts[phase.name] = joins ? parts[experiment.phases[i - 1].name] : i;
  }
  std::vector<PlannedCheckpoint*> sorted;
  for (PlannedCheckpoint& planned : checkpoints) sorted.push_back(&planned);
  const auto order_of = [&](const PlannedCheckpoint* planned) {
    const bool several = planned->capture.label != planned->checkpoint;
    return std::pair(parts[planned->phase], several ? *planned->capture.model.context : 0);
  };
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](const auto* a, const auto* b) { return order_of(a) < order_of(b); });
  for (size_t i = 0; i < sorted.size(); ++i) sorted[i]->order = static_cast<int64_t>(i);
}

// Adds one checkpoint after another to a plan, and compares each with the first.
class StudyPlanner {
 public:
  StudyPlanner(const Experiment& experiment, const fs::path& out, const Communicator& processes,
               std::shared_ptr<KnownHeaders> headers)
      : experiment_(experiment), out_(out), processes_(processes), headers_(std::move(headers)) {}

  // Adds checkpoint `i` of a phase at one context, or throws and adds nothing.
  void add(const Phase& phase, size_t i, const std::optional<int64_t>& context,
           const std::string& label) {
    PlannedCheckpoint planned = describe(phase, phase.checkpoints[i], context, label);
    if (phase.checkpoints[i].vectors) {
      add_vectors(phase, phase.checkpoints[i], std::move(planned));
    } else {
      add_weights(phase, i, std::move(planned));
    }
  }
  void add_failure(CheckpointFailure failure) { plan_.failures.push_back(std::move(failure)); }

  StudyPlan finish() {
    if (plan_.checkpoints.empty()) return std::move(plan_);
    count_stated_contexts(experiment_, plan_);
    if (!experiment_.models) number_by_context(experiment_, plan_.checkpoints);
    return std::move(plan_);
  }

 private:
  // The part of a planned checkpoint that the experiment file alone states.
  PlannedCheckpoint describe(const Phase& phase, const CheckpointEntry& entry,
                             const std::optional<int64_t>& context,
                             const std::string& label) const {
    if (label.size() > kLongestLabel) {
      throw InputError("{}: '{}' has {} characters; a folder's name can have at most {}",
                       experiment_.at(entry.line), label, label.size(), kLongestLabel);
    }
    PlannedCheckpoint planned;
    planned.phase = phase.name;
    planned.time = training_time(entry);
    planned.checkpoint = entry.label;
    planned.line = entry.line;
    planned.capture = capture_options(experiment_, phase, entry, label, out_);
    planned.capture.model.context = context;
    planned.capture.model.processes = processes_;
    planned.capture.model.headers = headers_;
    return planned;
  }

  void add_vectors(const Phase& phase, const CheckpointEntry& entry, PlannedCheckpoint planned) {
    planned.vectors = std::make_shared<const FoundVectors>(plan_vectors(experiment_, phase, entry));
    if (plan_.texts.empty()) plan_.texts.emplace_back();
    if (!plan_.checkpoints.empty() && !experiment_.models) {
      check_alike(experiment_, planned, plan_.checkpoints.front());
    }
    plan_.checkpoints.push_back(std::move(planned));
  }

  void add_weights(const Phase& phase, size_t i, PlannedCheckpoint planned) {
    const CheckpointEntry& entry = phase.checkpoints[i];
    const CheckpointLocation found = entry.random ? locate_config(experiment_, phase, i)
                                                  : locate_checkpoint(experiment_, phase, entry);
    planned.capture.model.model = found.folder;
    planned.capture.model.hub = found.hub;
    const OpenModel model = open_planned(experiment_, planned);
    const std::string warning =
        context_warning(experiment_, phase, planned.capture.model.context, model, entry.label);
    if (!warning.empty() && i == 0) log::warning("{}", warning);  // once per phase
    if (plan_.checkpoints.empty() || experiment_.models) {
      first_ = model.text.config;
      first_label_ = entry.label;
    }
    check_alike(experiment_, planned, model.text.config, first_label_, first_);
    check_asked_heads(experiment_, model);
    if (model.checkpoint && !model.backend)
      model.weights();  // throws where a tensor is missing or has a wrong shape
    planned.text = find_or_add_text(experiment_, phase, model, plan_);
    plan_.span = plan_.span > 0 ? std::min(plan_.span, model.context) : model.context;
    plan_.checkpoints.push_back(std::move(planned));
  }

  const Experiment& experiment_;
  const fs::path& out_;
  const Communicator& processes_;
  std::shared_ptr<KnownHeaders> headers_;
  StudyPlan plan_;
  std::string first_label_;  // label of the checkpoint that the others must match
  ModelConfig first_;
};

}  // namespace

std::string CheckpointFailure::text() const {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& thrown) {
    return thrown.what();
  }
}

StudyPlan plan_study(const Experiment& experiment, const fs::path& out, bool keep_going,
                     const Communicator& processes, const std::shared_ptr<KnownHeaders>& headers) {
  check_axis(experiment);
  check_device(experiment, processes);
  StudyPlanner planner(experiment, out, processes, headers);
  for (const Phase& phase : experiment.phases) {
    const std::vector<std::optional<int64_t>> contexts = contexts_of(phase);
    for (size_t i = 0; i < phase.checkpoints.size(); ++i) {
      const std::vector<std::string> labels = phase.labels_of(phase.checkpoints[i]);
      for (size_t c = 0; c < contexts.size(); ++c) {
        try {
          planner.add(phase, i, contexts[c], labels[c]);
        } catch (const std::runtime_error&) {
          if (!keep_going) throw;
          planner.add_failure({labels[c], std::current_exception()});
        }
      }
    }
  }
  return planner.finish();
}

}  // namespace ropewalk
