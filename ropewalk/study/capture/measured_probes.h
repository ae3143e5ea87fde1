#pragma once

#include "ropewalk/study/capture/capture.h"
#include "ropewalk/study/capture/probes.h"

namespace ropewalk {

// The description that the capture of probes will have, without the digest of its weights.
CaptureInfo describe_probes(const CaptureOptions& options, const OpenModel& model,
                            const ProbeSet& probes);

// Runs probes through the model, which must be opened with scores and for all layers, and writes
// `options.out`: capture.json and moments.safetensors, which holds what every head gives to certain
// tokens of each probe, but no moments. `out` appears only when it is complete. With several
// processes, each reads a part. Collective.
void measure_probes(const CaptureOptions& options, const OpenModel& model, const ProbeSet& probes);

}  // namespace ropewalk
