#pragma once

#include <set>
#include <string>
#include <vector>

#include "ropewalk/study/capture/capture_store.h"
#include "ropewalk/study/run/probe_captures.h"
#include "ropewalk/study/run/study.h"

namespace ropewalk {

// What will be done for one checkpoint of a study.
struct CheckpointTask {
  enum class Action {
    keep,       // a capture exists that has all that is requested
    complete,   // a capture exists that lacks something, which is measured and added
    extend,     // a capture of its first documents exists: the others are read and added
    measure,    // from the first document, or from where an interrupted capture stopped
    leave_out,  // no capture exists, and --only does not request one
  };
  const PlannedCheckpoint* planned = nullptr;
  Action action = Action::measure;
  StoredCapture* stored = nullptr;  // for keep, complete and extend
  // what `stored` lacks of what is requested (CaptureMatcher::missing)
  std::set<std::string> missing;
  bool probes = false;  // whether its probes are to be measured (probe_captures.h)
  CaptureInfo info;     // the description of the capture, without the weights' digest
  std::string why;      // why it is measured although its folder holds a capture
  // What an interrupted capture left, if anything: its file, and the number of documents read.
  std::filesystem::path state;
  int64_t resumed = 0;
};

// Decides what to do for every checkpoint, in order. Captures that are kept or extended are marked
// as in use, as are captures of probes that fit.
std::vector<CheckpointTask> decide_tasks(const Study& study, CaptureStore& store,
                                         ProbeCaptures& probes);

}  // namespace ropewalk
