#include "ropewalk/study/run/checkpoint_task.h"

#include <fmt/format.h>

#include <optional>

#include "ropewalk/analysis/run/context_label.h"
#include "ropewalk/study/capture/capture_state.h"
#include "ropewalk/study/run/capture_matcher.h"

namespace ropewalk {
namespace {

using Action = CheckpointTask::Action;

// The capture that is not in use, fits, and has the most documents; among equals, the one in the
// label's own folder.
template <typename Fits>
StoredCapture* find_capture(CaptureStore& store, const std::string& label, const Fits& fits) {
  StoredCapture* best = nullptr;
  for (StoredCapture& capture : store.captures()) {
    if (capture.in_use || !fits(capture.info)) continue;
    const int64_t more = best == nullptr ? 1 : capture.info.documents - best->info.documents;
    if (more > 0 || (more == 0 && capture.folder == store.folder_of(label))) best = &capture;
  }
  return best;
}

// A capture of the same checkpoint and context from when it had another number of contexts, and
// therefore another label.
const StoredCapture* capture_with_other_label(CaptureStore& store, const PlannedCheckpoint& planned,
                                              const CaptureInfo& info) {
  for (const StoredCapture& capture : store.captures()) {
    const std::string name = split_label(capture.info.label).name;
    const bool same = name == planned.checkpoint && capture.info.context == info.context;
    if (same && !capture.in_use) return &capture;
  }
  return nullptr;
}

// Gives each task the capture that fits best: a complete one, else one that lacks what
// can be added to it, else one that begins with the same documents.
void claim_captures(CaptureStore& store, std::vector<CaptureMatcher>& matchers,
                    std::vector<CheckpointTask>& tasks) {
  for (StoredCapture& capture : store.captures()) capture.in_use = false;
  const auto claim = [&](Action action, auto fits) {
    for (size_t i = 0; i < matchers.size(); ++i) {
      if (tasks[i].stored != nullptr) continue;
      const std::string& label = matchers[i].planned().capture.label;
      StoredCapture* found = find_capture(
          store, label, [&](const CaptureInfo& info) { return fits(matchers[i], info); });
      if (found == nullptr) continue;
      found->in_use = true;
      tasks[i].action = action;
      tasks[i].stored = found;
    }
  };
  claim(Action::keep, [](CaptureMatcher& mine, const CaptureInfo& info) {
    return mine.same_documents(info) && mine.missing(info).empty() && mine.same_measure(info);
  });
  claim(Action::complete, [](CaptureMatcher& mine, const CaptureInfo& info) {
    return mine.same_documents(info) && mine.same_measure(info);
  });
  claim(Action::extend, [](CaptureMatcher& mine, const CaptureInfo& info) {
    return mine.why_not_extended().empty() && mine.begins_with(info) && mine.same_measure(info);
  });
}

// The reason why a label's capture does not fit; empty where it has none.
std::string why_measured(const Study& study, CaptureStore& store, CaptureMatcher& mine) {
  const PlannedCheckpoint& planned = mine.planned();
  const std::string& label = planned.capture.label;
  if (const StoredCapture* there = store.at(label)) return mine.difference(there->info);
  if (store.damaged(label)) return "its capture is damaged";
  const StoredCapture* other = capture_with_other_label(store, planned, mine.info());
  if (other == nullptr) return "";
  std::string why = mine.difference(other->info);
  if (!why.empty() && !mine.same_documents(other->info)) {
    why += fmt::format(": documents are chosen for the longest context, {}",
                       study.plan.texts[planned.text].longest_context);
  }
  return why;
}

// Finds the state from which an interrupted measurement of the task resumes, if there is one.
void find_saved_state(CaptureMatcher& mine, CheckpointTask& task) {
  const int64_t before = task.action == Action::extend ? task.stored->info.documents : 0;
  const std::optional<SavedState> saved =
      find_state(*task.planned->capture.state,
                 [&](const StateInfo& state) { return mine.can_resume(state, before); });
  if (!saved) return;
  task.state = saved->file;
  task.resumed = saved->info.documents;
}

}  // namespace

std::vector<CheckpointTask> decide_tasks(const Study& study, CaptureStore& store,
                                         ProbeCaptures& probes) {
  probes.find();
  std::vector<CaptureMatcher> matchers;
  matchers.reserve(study.plan.checkpoints.size());
  for (const PlannedCheckpoint& planned : study.plan.checkpoints) {
    matchers.emplace_back(study, planned);
  }
  std::vector<CheckpointTask> tasks(matchers.size());
  claim_captures(store, matchers, tasks);
  for (size_t i = 0; i < matchers.size(); ++i) {
    CheckpointTask& task = tasks[i];
    CaptureMatcher& mine = matchers[i];
    task.planned = &mine.planned();
    task.info = mine.info();
    if (task.stored != nullptr) task.missing = mine.missing(task.stored->info);
    const bool wanted = study.wanted(*task.planned);
    task.probes = wanted && probes.lacks(*task.planned);
    // A checkpoint that is not requested keeps its capture; the columns that it lacks are empty.
    if (task.action == Action::complete && !wanted) task.action = Action::keep;
    const bool settled = task.action == Action::keep || task.action == Action::complete;
    if (task.stored != nullptr && settled) continue;
    task.why = why_measured(study, store, mine);
    if (!wanted) {
      task.action = Action::leave_out;  // its capture, if it has one, stays in use
      continue;
    }
    if (task.stored == nullptr) task.action = Action::measure;
    find_saved_state(mine, task);
  }
  return tasks;
}

}  // namespace ropewalk
