#include "ropewalk/study/run/analysis_memory.h"

#include <limits>

#include "ropewalk/analysis/analyze/analyze_streams.h"
#include "ropewalk/base/log.h"
#include "ropewalk/base/units.h"
#include "ropewalk/moments/collectors/moments_collector.h"
#include "ropewalk/study/run/study.h"

namespace ropewalk {

int64_t AnalysisMemory::most() const { return moments + at::get_num_threads() * core; }

AnalysisMemory analysis_memory(const PlannedCheckpoint& planned) {
  const CaptureOptions& capture = planned.capture;
  constexpr int64_t kNoBounds = std::numeric_limits<int64_t>::max();
  if (planned.vectors) return {.budget = kNoBounds};
  const OpenModel model = open_without_weights(capture.model);
  const ModelConfig& config = model.text.config;
  AnalysisMemory memory;
  memory.budget = model.device.is_cpu() ? model.memory : kNoBounds;
  // Totals are float64, blocks float32.
  const int64_t kept =
      moments_bytes(config, model.heads, collector_options(capture, model, {})).all;
  memory.moments = kept / capture.blocks + kept / 2;
  memory.core = group_bytes(capture.blocks, config.d_head);
  return memory;
}

void warn_of_memory(const Study& study) {
  AnalysisMemory most;
  const PlannedCheckpoint* whose = nullptr;
  for (const PlannedCheckpoint& planned : study.plan.checkpoints) {
    const AnalysisMemory memory = analysis_memory(planned);
    if (memory.least() <= memory.budget || memory.least() <= most.least()) continue;
    most = memory;
    whose = &planned;
  }
  if (whose == nullptr) return;
  log::warning(
      "memory: a budget of {} is too small for the analysis of '{}', whose moments ({}) and work "
      "on one core ({}) need {}: this run will use that much; fewer blocks or heads need less",
      format_bytes(most.budget), whose->capture.label, format_bytes(most.moments),
      format_bytes(most.core), format_bytes(most.least()));
}

}  // namespace ropewalk
