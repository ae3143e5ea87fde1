#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ropewalk/analysis/replicates/head_replicates.h"
#include "ropewalk/analysis/table/run_table.h"

namespace ropewalk {

// A query head, its KV head, and whether its layer has RoPE.
struct HeadId {
  int64_t layer = 0;
  int64_t q_head = 0;
  int64_t kv_head = 0;
  std::optional<bool> rope = true;  // empty: unknown
};

// Adds the rows of one head to a checkpoint: every statistic with its jackknife standard error.
// `sizes` are the tokens of each block, queries and keys together. Undefined numbers are NaN, and a
// flag says why:
//   no_variance  nothing varies at all          rank         this component has no variance
//   no_position  positions do not vary          constant_q, constant_k, …  flags of single
//   statistics no_se        a number without its standard error, as with fewer than two blocks
//   few_blocks   fewer than eight blocks: the standard errors are themselves uncertain
//   random_weights  the checkpoint is a baseline
// heads.csv has one set of flags per head: those of its row of PC0 except `rank`, and those that
// statistics set for a head (HeadFlag).
void add_head(CheckpointTable& checkpoint, const HeadId& id, const HeadReplicates& head,
              const std::vector<double>& sizes);

}  // namespace ropewalk
