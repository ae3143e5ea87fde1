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

// Where a checkpoint that has weights of its own is, or the config of captured vectors. On the Hub,
// only its config is fetched.
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

// Whose config a random checkpoint takes: the nearest one in its phase that has weights, the next
// before the previous.
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
      "{}: '{}' has random weights, and its phase no other checkpoint whose config it could take; "
      "move it into one that has",
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

// What its config tells, and its weights where they are here. What cannot be done with them is said
// with the checkpoint's line.
OpenModel open_planned(const Experiment& experiment, const PlannedCheckpoint& planned) {
  const ModelOptions& options = planned.capture.model;
  try {
    return options.hub ? open_without_weights(options) : open_model(options);
  } catch (const UsageError& error) {
    throw InputError("{}: '{}': {}", experiment.at(planned.line), planned.capture.label,
                     error.what());
  }
}

// The contexts that a checkpoint of a phase is measured at; nothing: its own.
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

// The documents that a checkpoint reads, planned for it too.
size_t find_or_add_text(const Experiment& experiment, const Phase& phase, const OpenModel& model,
                        StudyPlan& plan) {
  // With `ablate`, the head must predict them.
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

// Documents of a run are chosen for the longest context that its file states: a checkpoint that is
// missing today changes nothing for the others.
void count_stated_contexts(const Experiment& experiment, StudyPlan& plan) {
  if (experiment.models) return;  // each has documents of its own
  int64_t& longest = plan.texts.front().longest_context;
  for (const Phase& phase : experiment.phases) {
    for (const int64_t context : phase.contexts) longest = std::max(longest, context);
  }
}

// Numbers checkpoints for tables: consecutive phases with the same list of contexts stand there
// once for each context, so that each of them reads as a run.
void number_by_context(const Experiment& experiment, std::vector<PlannedCheckpoint>& checkpoints) {
  std::map<std::string, size_t> parts;  // of the run, by phase
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
      throw InputError("{}: '{}' has {} characters; at most {} can name a folder",
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
    if (!beyond.empty() && i == 0) log::warning("{}", beyond);  // the others are alike
    if (plan.checkpoints.empty() || experiment.models) {
      first = model.text.config;
      first_label = entry.label;
    }
    check_alike(experiment, planned, model.text.config, first_label, first);
    check_asked_heads(experiment, model);
    if (model.checkpoint) model.weights();  // every tensor is there and has its shape
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
