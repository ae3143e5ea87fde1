#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ropewalk/study/run/analyses.h"
#include "ropewalk/study/run/manifest.h"
#include "ropewalk/study/run/study.h"

namespace ropewalk {

// The result of measuring a study.
struct MeasuredStudy {
  std::vector<MeasuredCheckpoint> checkpoints;  // finished checkpoints, in the order of the tables
  std::vector<CheckpointFailure> failures;  // failures of this run, and those found while planning
  std::shared_ptr<Analyses> analyses;       // analyses of these checkpoints, started or not
};

// Measures what is requested and missing, keeps existing captures, and says why something is
// measured again. Stops at the first checkpoint that fails unless the study is to keep going;
// finished checkpoints are returned in any case. With several processes, the first one gets the
// result, and a failure is thrown. Collective.
MeasuredStudy measure_study(const Study& study);

}  // namespace ropewalk
