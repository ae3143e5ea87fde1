#pragma once

#include <set>
#include <string>
#include <vector>

#include "ropewalk/study/capture_store.h"
#include "ropewalk/study/study.h"

namespace ropewalk {

// What becomes of one checkpoint of a study.
struct Work {
  enum class Task {
    keep,       // a capture of just this is there
    extend,     // one of its first documents is there: the others are read and added
    measure,    // from the first document, or from where an interrupted capture stopped
    leave_out,  // it is not there, and --only does not ask for it
  };
  const PlannedCheckpoint* planned = nullptr;
  Task task = Task::measure;
  StoredCapture* stored = nullptr;  // keep, extend
  CaptureInfo info;                 // as it will describe itself, without the weights' digest
  std::string why;                  // of what is measured though a capture has its place
  // What an interrupted capture left, where there is one: its file, and documents read.
  std::filesystem::path state;
  int64_t resumed = 0;
};

// Decides for every checkpoint, in order. `settled`: documents to read, -1 for all. Captures that
// are kept or extended are marked as in use.
std::vector<Work> decide_work(const Study& study, CaptureStore& store, int64_t settled);

// With a target for standard errors, the first trained checkpoint decides how many documents all of
// them read. That checkpoint, or null: no target, or none to decide.
// `failed`: labels of those that could not be measured; then the next one decides.
const PlannedCheckpoint* decisive_checkpoint(const Study& study,
                                             const std::set<std::string>& failed = {});
// How many documents it has settled on already; -1: it is still to be measured.
int64_t settled_documents(const Study& study, CaptureStore& store,
                          const PlannedCheckpoint& decisive);

}  // namespace ropewalk
