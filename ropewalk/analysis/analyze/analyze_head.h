#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ropewalk/analysis/replicates/head_replicates.h"
#include "ropewalk/analysis/table/run_table.h"

namespace ropewalk {

// A query head, the KV head that it reads, and what is known of it.
struct HeadId {
  int64_t layer = 0;
  int64_t q_head = 0;
  int64_t kv_head = 0;
  std::optional<bool> rope = true;  // nothing: not known
};

// Adds the rows of one head to a checkpoint: every statistic with its jackknife standard error.
// `sizes` are the tokens of each block, queries and keys together. Numbers that are undefined are
// NaN and named in flags:
//   no_variance  nothing varies at all          rank         this component has no variance
//   no_position  positions do not vary          constant_q, constant_k, …  a statistic's own
//   no_se        a number without its standard error, as with fewer than two blocks
//   few_blocks   fewer than eight blocks: the standard errors are themselves uncertain
//   random_weights  a baseline's
// Those of heads.csv are a head's own: these of PC0 but `rank`, and what statistics say of a head
// (HeadFlag).
void add_head(CheckpointTable& checkpoint, const HeadId& id, const HeadReplicates& head,
              const std::vector<double>& sizes);

}  // namespace ropewalk
