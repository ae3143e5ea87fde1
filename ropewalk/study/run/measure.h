#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ropewalk/study/run/analyses.h"
#include "ropewalk/study/run/manifest.h"
#include "ropewalk/study/run/study.h"

namespace ropewalk {

// What came of measuring a study.
struct MeasuredStudy {
  std::vector<MeasuredCheckpoint> checkpoints;  // that are finished, in the order of tables
  std::vector<CheckpointFailure> failures;      // of this run and of its plan
  std::shared_ptr<Analyses> analyses;           // of these checkpoints, begun or not
};

// Measures what is wanted and not there, keeps what is, and says why where something is measured
// again. Stops at the first checkpoint that fails unless the study is to keep going; what is
// finished is returned either way. Of several processes the first one gets the result, and a
// failure is thrown. Collective.
MeasuredStudy measure_study(const Study& study);

}  // namespace ropewalk
