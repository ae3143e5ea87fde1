#pragma once

#include <filesystem>
#include <vector>

#include "ropewalk/base/files/json.h"

namespace ropewalk {

struct CaptureMoments;

// Measured steps of a training run (`ropewalk.watch`). Each is a capture folder that also holds its
// analysis, so that writing one step touches no other.
inline constexpr const char* kAnalysisName = "analysis.bin";

// When a step was measured: its first training step, and the step at which each block was measured.
// Weights that change meanwhile cause a trend along the blocks.
struct MeasuredStep {
  int64_t step = 0;
  std::vector<double> of_blocks{};
};

// Analyses a step and writes it atomically, under the name in `moments`; with its moments, if these
// are kept. Returns its entry for summary.json, under "trend" the number of heads with this flag,
// and under "health" each head's logit_sd.
Json write_step(const std::filesystem::path& folder, const CaptureMoments& moments,
                const MeasuredStep& measured, int64_t components, bool keep_moments);

// Writes the tables of these steps to a folder, in this order, from the stored analyses. An
// analysis by another edition of the program is computed again from the moments. A damaged step is
// left out, with a warning. Throws InputError where none is left.
void write_tables_of_steps(const std::vector<std::filesystem::path>& folders,
                           const std::filesystem::path& out, int64_t components);

}  // namespace ropewalk
