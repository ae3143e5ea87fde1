#include "ropewalk/study/run/plan_checks.h"

#include <algorithm>
#include <iterator>

#include "ropewalk/base/error.h"
#include "ropewalk/base/log.h"
#include "ropewalk/base/printable.h"
#include "ropewalk/figures/parts/head_name.h"
#include "ropewalk/study/capture/capture_vectors.h"

namespace ropewalk {

std::string context_warning(const Experiment& experiment, const Phase& phase,
                            const std::optional<int64_t>& context, const OpenModel& model,
                            const std::string& label) {
  if (!context) return {};
  const std::string line = experiment.at(phase.context_line);
  const std::string problem = too_few_positions_error(model.text, *context);
  if (!problem.empty()) throw InputError("{}: '{}': {}", line, label, problem);
  const std::string beyond = long_context_warning(model.text.config, *context);
  return beyond.empty() ? beyond : fmt::format("{}: '{}': {}", line, label, beyond);
}

void check_alike(const Experiment& experiment, const PlannedCheckpoint& planned,
                 const ModelConfig& config, const std::string& first_label,
                 const ModelConfig& first) {
  const auto check = [&](const char* what, const auto& mine, const auto& theirs) {
    if (mine == theirs) return;
    throw InputError("{}: '{}' belongs to another model than '{}': its {} is {}, expected {}",
                     experiment.at(planned.line), planned.capture.label, first_label, what, mine,
                     theirs);
  };
  check("architecture", config.architecture, first.architecture);
  check("number of layers", config.n_layers, first.n_layers);
  check("number of query heads", config.n_q_heads, first.n_q_heads);
  check("number of key heads", config.n_kv_heads, first.n_kv_heads);
  check("head dimension", config.d_head, first.d_head);
  check("vocabulary", config.vocabulary_size, first.vocabulary_size);
}

void check_alike(const Experiment& experiment, const PlannedCheckpoint& planned,
                 const PlannedCheckpoint& first) {
  const CaptureInfo &mine = planned.vectors->info, &theirs = first.vectors->info;
  const auto check = [&](const char* key, int64_t one, int64_t other) {
    if (one == other) return;
    throw InputError("{}: '{}' belongs to another model than '{}': its {} is {}, expected {}",
                     experiment.at(planned.line), mine.label, theirs.label, key, one, other);
  };
  check("n_q_heads", mine.config.n_q_heads, theirs.config.n_q_heads);
  check("n_kv_heads", mine.config.n_kv_heads, theirs.config.n_kv_heads);
  // Means over different heads would look like a change during training.
  std::vector<QueryHead> odd;
  std::set_symmetric_difference(theirs.heads.begin(), theirs.heads.end(), mine.heads.begin(),
                                mine.heads.end(), std::back_inserter(odd));
  if (odd.empty()) return;
  const bool here = std::binary_search(mine.heads.begin(), mine.heads.end(), odd.front());
  throw InputError("{}: '{}' {} head {}, which '{}' {}; expected vectors of the same heads",
                   experiment.at(planned.line), mine.label, here ? "has" : "lacks",
                   head_name(odd.front()), theirs.label, here ? "lacks" : "has");
}

void check_asked_heads(const Experiment& experiment, const OpenModel& model) {
  const ModelConfig& config = model.text.config;
  for (const QueryHead& head : experiment.figures.distance) {
    const auto same = [&](const QueryHead& measured) { return measured == head; };
    if (std::any_of(model.heads.begin(), model.heads.end(), same)) continue;
    const bool there = head.layer < config.n_layers && head.q_head < config.n_q_heads;
    throw InputError(
        "{}: figures: distance: head {} {}", experiment.file.string(), head_name(head),
        there ? "was not chosen to be measured; leave it out, or measure all heads"
              : fmt::format("does not exist; the model has layers 0 to {} with heads 0 to {}",
                            config.n_layers - 1, config.n_q_heads - 1));
  }
}

void warn_of_contexts(const Experiment& experiment, const StudyPlan& plan) {
  if (!experiment.models) return;
  const PlannedCheckpoint* first = nullptr;
  for (const PlannedCheckpoint& planned : plan.checkpoints) {
    if (first == nullptr) first = &planned;
    const int64_t context = plan.texts[planned.text].longest_context;
    const int64_t before = plan.texts[first->text].longest_context;
    if (context == before) continue;
    log::warning(
        "{}: '{}' is measured at {} tokens and '{}' at {}: r, classes and slopes depend on the "
        "context; write the same context: for all models",
        experiment.file.string(), printable_excerpt(first->capture.label, 60), before,
        printable_excerpt(planned.capture.label, 60), context);
    return;
  }
}

void check_axis(const Experiment& experiment) {
  std::vector<TimedLabel> run;
  if (experiment.axis == TimeAxis::labels) return;
  for (const Phase& phase : experiment.phases) {
    if (phase.contexts.size() > 1) {
      throw InputError("{}: axis {} is for one context at a time; write axis: labels",
                       experiment.at(phase.context_line), time_axis_name(experiment.axis));
    }
    for (const CheckpointEntry& entry : phase.checkpoints) {
      const TrainingTime time = training_time(entry);
      if (!entry.random) {
        run.push_back({entry.label, time.step.value_or(-1), time.tokens.value_or(-1)});
      }
    }
  }
  const std::string problem = time_problem(run, experiment.axis);
  if (!problem.empty()) throw InputError("{}: {}", experiment.file.string(), problem);
}

}  // namespace ropewalk
