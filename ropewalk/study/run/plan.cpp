#include "ropewalk/study/run/plan.h"

#include <algorithm>
#include <map>
#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/base/log.h"
#include "ropewalk/model/device.h"
#include "ropewalk/study/capture/capture_vectors.h"
#include "ropewalk/study/run/plan_checks.h"
#include "ropewalk/study/source/hub_uri.h"
#include "ropewalk/study/source/locate.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

bool is_folder(const fs::path& path) {
  std::error_code error;
  const bool folder = fs::is_directory(path, error);
  if (error == std::errc::permission_denied) {
    throw SystemError("{}: cannot be read: {}", path.string(), error.message());
  }
  return folder;
}

// The location of a checkpoint with weights of its own, or of the config of captured vectors. From
// the Hub, only the config is fetched.
struct CheckpointLocation {
  fs::path folder;
  std::optional<HubCheckpoint> hub;
};

CheckpointLocation locate_checkpoint(const Experiment& experiment, const Phase& phase,
                                     const CheckpointEntry& entry) {
  if (entry.path) {
    const fs::path folder = experiment.resolve(*entry.path);
    if (is_folder(folder)) return {folder, {}};
    throw InputError("{}: '{}': path {} is not a folder; paths are relative to the experiment file",
                     experiment.at(entry.line), entry.label, folder.string());
  }
  const std::optional<std::string>& name = experiment.model_of(phase);
  if (!name) {
    throw InputError(
        "{}: '{}' names a revision, but the file has no model; write model: org/name or a folder",
        experiment.at(entry.line), entry.label);
  }
  const fs::path model = experiment.resolve(*name);
  if (is_folder(model)) {
    if (entry.vectors) return {model, {}};
    const fs::path folder = experiment.folder_in(model, entry);
    if (is_folder(folder)) return {folder, {}};
    throw InputError("{}: '{}': the model has no folder {}", experiment.at(entry.line), entry.label,
                     folder.string());
  }
  if (!is_hub_id(*name)) {
    throw InputError("{}: model '{}' is neither a folder nor a Hub model (org/name)",
                     experiment.at(experiment.model_line_of(phase)), *name);
  }
  try {
    const HubCheckpoint found =
        find_checkpoint(shared_hub(), *name, entry.revision.value_or("main"), entry.subfolder);
    return {found.folder, found};
  } catch (const InputError& error) {
    throw InputError("{}: '{}': model '{}' is not a folder, and {}", experiment.at(entry.line),
                     entry.label, *name, error.what());
  }
}

// The checkpoint whose config a random checkpoint uses: the nearest one in its phase that has
// weights; among equally near ones, the next before the previous.
CheckpointLocation locate_config(const Experiment& experiment, const Phase& phase, size_t index) {
  const auto usable = [&](size_t i) { return !phase.checkpoints[i].random; };
  for (size_t i = index + 1; i < phase.checkpoints.size(); ++i) {
    if (usable(i)) return locate_checkpoint(experiment, phase, phase.checkpoints[i]);
  }
  for (size_t i = index; i-- > 0;) {
    if (usable(i)) return locate_checkpoint(experiment, phase, phase.checkpoints[i]);
  }
  if (experiment.model && is_folder(experiment.resolve(*experiment.model))) {
    return {experiment.resolve(*experiment.model), {}};
  }
  const CheckpointEntry& entry = phase.checkpoints[index];
  throw InputError(
      "{}: '{}' has random weights, but its phase has no other checkpoint whose config it could "
      "use; move it into a phase that has one",
      experiment.at(entry.line), entry.label);
}

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
  options.model.config = phase.config;
  options.model.random = entry.random;
  options.model.from_file = true;
  options.label = label;
  options.blocks = experiment.blocks;
  options.keep = experiment.keep;
  options.model.head = experiment.keep.loss;
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
  StudyPlan plan;
  std::string first_label;
  ModelConfig first;
  const auto add = [&](const Phase& phase, size_t i, const std::optional<int64_t>& context,
                       const std::string& label) {
    const CheckpointEntry& entry = phase.checkpoints[i];
    if (label.size() > kLongestLabel) {
      throw InputError("{}: '{}' has {} characters; a folder's name can have at most {}",
                       experiment.at(entry.line), label, label.size(), kLongestLabel);
    }
    PlannedCheckpoint planned;
    planned.phase = phase.name;
    planned.time = training_time(entry);
    planned.checkpoint = entry.label;
    planned.line = entry.line;
    planned.capture = capture_options(experiment, phase, entry, label, out);
    planned.capture.model.context = context;
    planned.capture.model.processes = processes;
    planned.capture.model.headers = headers;
    if (entry.vectors) {
      planned.vectors =
          std::make_shared<const FoundVectors>(plan_vectors(experiment, phase, entry));
      if (plan.texts.empty()) plan.texts.emplace_back();
      if (!plan.checkpoints.empty() && !experiment.models) {
        check_alike(experiment, planned, plan.checkpoints.front());
      }
      plan.checkpoints.push_back(std::move(planned));
      return;
    }
    const CheckpointLocation found = entry.random ? locate_config(experiment, phase, i)
                                                  : locate_checkpoint(experiment, phase, entry);
    planned.capture.model.model = found.folder;
    planned.capture.model.hub = found.hub;
    const OpenModel model = open_planned(experiment, planned);
    const std::string beyond = context_warning(experiment, phase, context, model, entry.label);
    // the other checkpoints give the same warning
    if (!beyond.empty() && i == 0) log::warning("{}", beyond);
    if (plan.checkpoints.empty() || experiment.models) {
      first = model.text.config;
      first_label = entry.label;
    }
    check_alike(experiment, planned, model.text.config, first_label, first);
    check_asked_heads(experiment, model);
    // checks that every tensor exists and has the right shape
    if (model.checkpoint) model.weights();
    planned.text = find_or_add_text(experiment, phase, model, plan);
    plan.checkpoints.push_back(std::move(planned));
  };
  for (const Phase& phase : experiment.phases) {
    const std::vector<std::optional<int64_t>> contexts = contexts_of(phase);
    for (size_t i = 0; i < phase.checkpoints.size(); ++i) {
      const std::vector<std::string> labels = phase.labels_of(phase.checkpoints[i]);
      for (size_t c = 0; c < contexts.size(); ++c) {
        try {
          add(phase, i, contexts[c], labels[c]);
        } catch (const std::runtime_error&) {
          if (!keep_going) throw;
          plan.failures.push_back({labels[c], std::current_exception()});
        }
      }
    }
  }
  if (plan.checkpoints.empty()) return plan;
  count_stated_contexts(experiment, plan);
  if (!experiment.models) number_by_context(experiment, plan.checkpoints);
  return plan;
}

}  // namespace ropewalk
