#pragma once

#include <filesystem>
#include <vector>

#include "ropewalk/base/json.h"

namespace ropewalk {

struct CaptureMoments;

// Measured steps of a training run (`ropewalk.watch`): each is a capture folder with its analysis
// beside the moments, so that writing one reads and writes nothing of the others.
inline constexpr const char* kAnalysisName = "analysis.bin";

// Analyzes a step and writes it, named as `moments` say, atomically; its moments too where these
// are kept. Returns what summary.json would say of it alone.
Json write_step(const std::filesystem::path& folder, const CaptureMoments& moments,
                int64_t components, bool keep_moments);

// Writes the tables of these steps, in this order, of what was analyzed when they were written. An
// analysis of another edition of the program is made again of its moments. A damaged step is left
// out, with a warning. Throws InputError where none is left.
void write_tables_of_steps(const std::vector<std::filesystem::path>& folders,
                           const std::filesystem::path& table, int64_t components);

}  // namespace ropewalk
