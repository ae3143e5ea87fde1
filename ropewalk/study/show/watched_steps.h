#pragma once

#include <filesystem>
#include <vector>

#include "ropewalk/base/files/json.h"

namespace ropewalk {

struct CaptureMoments;

// Measured steps of a training run (`ropewalk.watch`): each is a capture folder with its analysis
// beside the moments, so that writing one reads and writes nothing of the others.
inline constexpr const char* kAnalysisName = "analysis.bin";

// When a step was measured: the first step of training, and which one each block is of. Weights
// that moved meanwhile show as a trend along the blocks.
struct MeasuredStep {
  int64_t step = 0;
  std::vector<double> of_blocks{};
};

// Analyzes a step and writes it, named as `moments` say, atomically; its moments too where these
// are kept. Returns what summary.json would say of it alone, and under "trend" how many heads
// have that flag.
Json write_step(const std::filesystem::path& folder, const CaptureMoments& moments,
                const MeasuredStep& measured, int64_t components, bool keep_moments);

// Writes the tables of these steps to a folder, in this order, of what was analyzed when they were
// written. An analysis of another edition of the program is made again of its moments. A damaged
// step is left out, with a warning. Throws InputError where none is left.
void write_tables_of_steps(const std::vector<std::filesystem::path>& folders,
                           const std::filesystem::path& out, int64_t components);

}  // namespace ropewalk
