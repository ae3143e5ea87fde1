#pragma once

#include <cstdint>

namespace ropewalk {

struct PlannedCheckpoint;
struct Study;

// What the analysis of a capture takes of the memory that a study may have.
struct AnalysisMemory {
  int64_t budget = 0;   // of the study
  int64_t moments = 0;  // all of the capture's, as they are read
  int64_t core = 0;     // for each core that works

  int64_t least() const { return moments + core; }
  int64_t most() const;  // with all cores
  // What cores may share.
  int64_t for_cores() const { return budget - moments; }
};

// Of a planned checkpoint: reads its config. On a GPU the budget is the GPU's, and analyses, which
// take the machine's memory, have no bounds; nor have those of vectors.
AnalysisMemory analysis_memory(const PlannedCheckpoint& planned);

// Says so where the budget is less than what the analysis of a checkpoint takes on one core.
void warn_of_memory(const Study& study);

}  // namespace ropewalk
