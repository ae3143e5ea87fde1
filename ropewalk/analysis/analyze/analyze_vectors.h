#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "ropewalk/analysis/table/run_table.h"

namespace ropewalk {

// The same analysis from a folder of sampled vectors in the published layout, ours or another
// program's. Examples are dealt to blocks in order of their id; pieces of longer texts, in runs of
// neighbours where their ids tell, else with a warning. How many query heads share a
// KV head comes from our capture.json, from the published README's head counts, or from `kv_group`;
// else it is an InputError.
CheckpointTable analyze_vectors(const std::filesystem::path& folder, int64_t components,
                                std::optional<int64_t> kv_group);

}  // namespace ropewalk
