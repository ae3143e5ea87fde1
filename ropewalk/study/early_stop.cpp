#include "ropewalk/study/early_stop.h"

#include <algorithm>

#include "ropewalk/analysis/analyze_capture.h"
#include "ropewalk/analysis/summary.h"
#include "ropewalk/base/communicator.h"
#include "ropewalk/base/log.h"
#include "ropewalk/moments/moments_file.h"

namespace ropewalk {

int64_t target_round(const Communicator& processes, int64_t shards) {
  constexpr int64_t kDocuments = 8;  // as many as give a usable error
  return std::max<int64_t>(kDocuments * shards, processes.count());  // something for every process
}

int64_t round_after(int64_t documents, const Communicator& processes) {
  const int64_t round = target_round(processes);
  return (documents / round + 1) * round;
}

bool misses_target(const MomentsCollector& collector, const CaptureInfo& info, double target,
                   const Communicator& processes, int64_t memory) {
  CheckpointAnalysis analysis;
  for (const auto& [layer, moments] : collector.layers()) {
    const MomentsCollector::Layer joint = collector.joint_layer(layer, processes);
    if (!processes.first()) continue;
    CheckpointAnalysis part =
        analyze_capture(layer_moments(collector, layer, joint, info), 1, "this capture", memory);
    collector.release(moments);
    append_heads(analysis, part);
  }
  bool misses = false;
  if (processes.first()) {
    const HeadlineError error = headline_error(analysis);
    log::info("standard errors: {}", error.text);
    misses = !(error.worst <= target);  // unknown: a miss
  }
  return processes.from_first(int64_t{misses}) != 0;
}

}  // namespace ropewalk
