#pragma once

#include <vector>

#include "ropewalk/moments/capture_info.h"
#include "ropewalk/study/run/study.h"

namespace ropewalk {

// A checkpoint that was measured, and its capture.
struct MeasuredCheckpoint {
  const PlannedCheckpoint* planned = nullptr;
  std::filesystem::path folder;
  CaptureInfo info;
};

// manifest.json: where the results of a study come from (docs/formats.md), without the records of
// its stages.
Json describe_study(const Study& study, const std::vector<MeasuredCheckpoint>& measured);

// Atomic.
void write_manifest(const Study& study, const Json& manifest);

}  // namespace ropewalk
