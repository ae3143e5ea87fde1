#pragma once

#include <set>
#include <string>
#include <vector>

#include "ropewalk/study/capture/capture_store.h"
#include "ropewalk/study/run/study.h"

namespace ropewalk {

// What becomes of one checkpoint of a study.
struct CheckpointTask {
  enum class Action {
    keep,       // a capture of just this is there
    complete,   // one is there that lacks something: that is measured and added
    extend,     // one of its first documents is there: the others are read and added
    measure,    // from the first document, or from where an interrupted capture stopped
    leave_out,  // it is not there, and --only does not ask for it
  };
  const PlannedCheckpoint* planned = nullptr;
  Action action = Action::measure;
  StoredCapture* stored = nullptr;  // keep, complete, extend
  std::set<std::string>
      missing;       // what `stored` lacks of what is asked for (CaptureMatcher::missing)
  CaptureInfo info;  // as it will describe itself, without the weights' digest
  std::string why;   // it is measured although its folder holds a capture
  // What an interrupted capture left, where there is one: its file, and documents read.
  std::filesystem::path state;
  int64_t resumed = 0;
};

// Decides for every checkpoint, in order. Captures that are kept or extended are marked as in use.
std::vector<CheckpointTask> decide_tasks(const Study& study, CaptureStore& store);

}  // namespace ropewalk
