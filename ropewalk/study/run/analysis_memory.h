#pragma once

#include <cstdint>

namespace ropewalk {

struct PlannedCheckpoint;
struct Study;

// How much of a study's memory the analysis of a capture needs.
struct AnalysisMemory {
  int64_t budget = 0;   // the study's limit
  int64_t moments = 0;  // all moments of the capture, after reading
  int64_t core = 0;     // per working core

  int64_t least() const { return moments + core; }
  int64_t most() const;  // if all cores work
  // The bytes that remain for the cores.
  int64_t for_cores() const { return budget - moments; }
};

// For a planned checkpoint, whose config is read. On a GPU the limit is about the GPU's memory; the
// analysis uses the machine's memory and is then not limited. Neither are analyses of vectors.
AnalysisMemory analysis_memory(const PlannedCheckpoint& planned);

// Warns where the limit is lower than what the analysis of a checkpoint needs on one core.
void warn_of_memory(const Study& study);

}  // namespace ropewalk
