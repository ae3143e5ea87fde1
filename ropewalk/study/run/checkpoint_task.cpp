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

}  // namespace

std::vector<CheckpointTask> decide_tasks(const Study& study, CaptureStore& store) {
  std::vector<CaptureMatcher> wanted;
  wanted.reserve(study.plan.checkpoints.size());
  for (const PlannedCheckpoint& planned : study.plan.checkpoints)
    wanted.emplace_back(study, planned);
  for (StoredCapture& capture : store.captures()) capture.in_use = false;
  std::vector<CheckpointTask> tasks(wanted.size());
  const auto claim = [&](Action action, auto fits) {
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (tasks[i].stored != nullptr) continue;
      const std::string& label = wanted[i].planned().capture.label;
      StoredCapture* found = find_capture(
          store, label, [&](const CaptureInfo& info) { return fits(wanted[i], info); });
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
  for (size_t i = 0; i < wanted.size(); ++i) {
    CheckpointTask& task = tasks[i];
    CaptureMatcher& mine = wanted[i];
    task.planned = &mine.planned();
    task.info = mine.info();
    if (task.stored != nullptr) task.missing = mine.missing(task.stored->info);
    // A checkpoint that is not requested keeps its capture; the columns that it lacks are empty.
    if (task.action == Action::complete && !study.wanted(*task.planned)) task.action = Action::keep;
    if (task.stored != nullptr &&
        (task.action == Action::keep || task.action == Action::complete)) {
      continue;
    }
    const std::string& label = task.planned->capture.label;
    if (const StoredCapture* there = store.at(label); there != nullptr) {
      task.why = mine.difference(there->info);
    } else if (store.damaged(label)) {
      task.why = "its capture is damaged";
    } else if (const StoredCapture* other =
                   capture_with_other_label(store, *task.planned, mine.info())) {
      task.why = mine.difference(other->info);
      if (!task.why.empty() && !mine.same_documents(other->info)) {
        task.why += fmt::format(": documents are chosen for the longest context, {}",
                                study.plan.texts[task.planned->text].longest_context);
      }
    }
    if (!study.wanted(*task.planned)) {
      task.action = Action::leave_out;  // the existing capture stays in use
      continue;
    }
    if (task.stored == nullptr) task.action = Action::measure;
    const int64_t before = task.action == Action::extend ? task.stored->info.documents : 0;
    const std::optional<SavedState> saved =
        find_state(*task.planned->capture.state,
                   [&](const StateInfo& state) { return mine.can_resume(state, before); });
    if (!saved) continue;
    task.state = saved->file;
    task.resumed = saved->info.documents;
  }
  return tasks;
}

}  // namespace ropewalk
