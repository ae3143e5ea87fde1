#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "ropewalk/analysis/table/run_table.h"

namespace ropewalk {

// The same analysis for a folder of sampled vectors in the published layout, written by us or by
// another program. Examples are dealt to blocks in order of their id. Pieces of longer texts are
// dealt in runs of neighbours where their ids are positions; otherwise there is a warning. The
// number of query heads per KV head comes from our capture.json, from the head counts in the
// published README, or from `kv_group`; without any of these an InputError is thrown.
CheckpointTable analyze_vectors(const std::filesystem::path& folder, int64_t components,
                                std::optional<int64_t> kv_group);

}  // namespace ropewalk
