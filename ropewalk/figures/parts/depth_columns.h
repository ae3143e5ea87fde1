#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ropewalk/analysis/run/run_numbers.h"
#include "ropewalk/base/files/json.h"

namespace ropewalk {

// A column of a depth map: a tenth of the depth, or a layer.
struct DepthColumn {
  int bin = 0;                   // of the depth (analysis/run/depth.h)
  std::optional<int64_t> layer;  // the only layer in that tenth
};

// Ten columns, or one per layer where all checkpoints have the same layers and fewer than ten.
std::vector<DepthColumn> depth_columns(const RunNumbers& run);

// The lines of text under each column: the depth, and its layers and heads where all checkpoints
// agree.
Json column_labels(const RunNumbers& run, const std::vector<DepthColumn>& columns);

}  // namespace ropewalk
