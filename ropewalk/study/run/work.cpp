#include "ropewalk/study/run/work.h"

#include <fmt/format.h>

#include <optional>

#include "ropewalk/analysis/run/context_label.h"
#include "ropewalk/study/capture/capture_state.h"
#include "ropewalk/study/run/wanted.h"

namespace ropewalk {
namespace {

using Task = Work::Task;

// The capture that is not in use, fits and has the most documents; of as many, that in the label's
// own folder.
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

// A capture of the same checkpoint and context from before its contexts became several, or one.
const StoredCapture* of_other_label(CaptureStore& store, const PlannedCheckpoint& planned,
                                    const CaptureInfo& info) {
  for (const StoredCapture& capture : store.captures()) {
    const std::string name = split_label(capture.info.label).name;
    const bool same = name == planned.checkpoint && capture.info.context == info.context;
    if (same && !capture.in_use) return &capture;
  }
  return nullptr;
}

}  // namespace

std::vector<Work> decide_work(const Study& study, CaptureStore& store) {
  std::vector<Wanted> wanted;
  wanted.reserve(study.plan.checkpoints.size());
  for (const PlannedCheckpoint& planned : study.plan.checkpoints)
    wanted.emplace_back(study, planned);
  for (StoredCapture& capture : store.captures()) capture.in_use = false;
  std::vector<Work> works(wanted.size());
  const auto claim = [&](Task task, auto fits) {
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (works[i].stored != nullptr) continue;
      const std::string& label = wanted[i].planned().capture.label;
      StoredCapture* found = find_capture(
          store, label, [&](const CaptureInfo& info) { return fits(wanted[i], info); });
      if (found == nullptr) continue;
      found->in_use = true;
      works[i].task = task;
      works[i].stored = found;
    }
  };
  claim(Task::keep, [](Wanted& mine, const CaptureInfo& info) {
    return mine.same_documents(info) && mine.missing(info).empty() && mine.same_measure(info);
  });
  claim(Task::complete, [](Wanted& mine, const CaptureInfo& info) {
    return mine.same_documents(info) && mine.same_measure(info);
  });
  claim(Task::extend, [](Wanted& mine, const CaptureInfo& info) {
    return mine.why_not_extended().empty() && mine.begins_with(info) && mine.same_measure(info);
  });
  for (size_t i = 0; i < wanted.size(); ++i) {
    Work& work = works[i];
    Wanted& mine = wanted[i];
    work.planned = &mine.planned();
    work.info = mine.info();
    if (work.stored != nullptr) work.missing = mine.missing(work.stored->info);
    // Where it is not asked for, columns of what a capture lacks are empty.
    if (work.task == Task::complete && !study.wanted(*work.planned)) work.task = Task::keep;
    if (work.stored != nullptr && (work.task == Task::keep || work.task == Task::complete)) {
      continue;
    }
    const std::string& label = work.planned->capture.label;
    if (const StoredCapture* there = store.at(label); there != nullptr) {
      work.why = mine.difference(there->info);
    } else if (store.damaged(label)) {
      work.why = "its capture is damaged";
    } else if (const StoredCapture* other = of_other_label(store, *work.planned, mine.info())) {
      work.why = mine.difference(other->info);
      if (!work.why.empty() && !mine.same_documents(other->info)) {
        work.why += fmt::format(": documents are chosen for the longest context, {}",
                                study.plan.texts[work.planned->text].longest_context);
      }
    }
    if (!study.wanted(*work.planned)) {
      work.task = Task::leave_out;  // what is there of it stays in use
      continue;
    }
    if (work.stored == nullptr) work.task = Task::measure;
    const int64_t before = work.task == Task::extend ? work.stored->info.documents : 0;
    const std::optional<SavedState> saved =
        find_state(*work.planned->capture.state,
                   [&](const StateInfo& state) { return mine.goes_on_from(state, before); });
    if (!saved) continue;
    work.state = saved->file;
    work.resumed = saved->info.documents;
  }
  return works;
}

}  // namespace ropewalk
