#pragma once

#include <vector>

#include "ropewalk/moments/capture_info.h"
#include "ropewalk/study/run/study.h"

namespace ropewalk {

// A measured checkpoint and its capture.
struct MeasuredCheckpoint {
  const PlannedCheckpoint* planned = nullptr;
  std::filesystem::path folder;
  CaptureInfo info;
  std::string probes = {};  // hash of what was measured of probes (probe_captures.h); empty: none
};

// The contents of manifest.json, which says how the results of a study were made (docs/formats.md),
// without the records of its stages.
Json describe_study(const Study& study, const std::vector<MeasuredCheckpoint>& measured);

// Writes the manifest atomically.
void write_manifest(const Study& study, const Json& manifest);

}  // namespace ropewalk
