#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ropewalk/analysis/run/depth.h"
#include "ropewalk/analysis/table/roles.h"
#include "ropewalk/analysis/table/run_table.h"
#include "ropewalk/analysis/table/taxonomy.h"
#include "ropewalk/base/files/json.h"

namespace ropewalk {

// The numbers of a run that figures and comparisons show: over heads, on PC0, from any table of
// heads. NaN: undefined or unknown. A head counts where it has both r_q and r_k.

// The mean over heads, the spread over heads (n - 1), and the standard error over documents.
struct HeadMean {
  double mean = 0;
  double sd = 0;
  double se = 0;
};

struct ClassShare {
  int64_t heads = 0;
  double share = 0;
  double se = 0;
};

struct DepthCell {
  double value = 0;
  double se = 0;
};

// One view over the heads that have it.
struct ViewNumbers {
  HeadMean over_heads;
  std::array<DepthCell, kDepthBins> depth;  // means in each tenth of the depth
  std::vector<double> components;  // mean of each component, only for shares; empty: unknown
  std::vector<double> heads;       // in the order of CheckpointNumbers::heads
};

struct HeadPoint {
  int64_t layer = 0;
  int64_t q_head = 0;
  std::optional<bool> rope;  // empty: the table does not say
  HeadClass head_class = HeadClass::mixed;
};

// The mean of a series (series.h) over heads with the same points.
struct SeriesNumbers {
  std::vector<double> x;  // thetas of rotary pairs, positions, or mean distances of windows
  std::vector<double> value;
  std::vector<double> se;
  int64_t heads = 0;
  std::vector<double> begin{};  // of windows; else as `x`
  std::vector<double> end{};    // of windows; else none
};

struct CheckpointNumbers {
  std::string label;
  std::string phase;
  int64_t step = CheckpointTable::kUnknown;  // training step
  int64_t tokens = CheckpointTable::kUnknown;
  int64_t context = 0;                                  // tokens per document; 0: unknown
  int64_t undefined = 0;                                // heads left out because a value is missing
  std::vector<HeadPoint> heads;                         // by layer, then head
  int64_t last_layer = 0;                               // the model's highest layer index
  std::vector<ViewNumbers> views;                       // in the order of all_views()
  std::array<ClassShare, kHeadClasses.size()> classes;  // in the order of kHeadClasses
  std::array<int64_t, kDepthBins> depth_heads{};
  std::array<RoleNumbers, kRoles.size()> roles{};  // in the order of kRoles
  RoleNumbers place{};                             // of kPlaceRole
  // In the order of series(): bands over RoPE heads, per set of angles; curves over all heads.
  // Empty: the run has no such table.
  std::vector<std::vector<SeriesNumbers>> series;
  HeadMean loss{std::nan(""), std::nan(""), std::nan("")};  // nats per token, with its error
};

struct RunNumbers {
  std::string source;                          // the table, for messages
  std::string model;                           // the model's name, where all checkpoints share one
  std::vector<CheckpointNumbers> checkpoints;  // in the order of training
  std::vector<CheckpointNumbers> baselines;    // freshly initialised weights
  bool models = false;  // checkpoints are models to be compared side by side, not steps of a run
  bool standard_errors = false;  // whether a summary gave standard errors
  // The first checkpoint for which the summary states other means by rotary pair or by distance
  // than the table, so that these have no errors; empty: none.
  std::string other_series;
};

// `summary` (null: none) adds standard errors, and the model's last layer where no measured head is
// in it. Throws InputError naming `summary_source` where the summary disagrees with the table and
// therefore belongs to another one; and InputError where no head counts, because there is nothing
// to show.
RunNumbers run_numbers(const RunTable& table, const Json& summary = {},
                       const std::string& summary_source = {});

}  // namespace ropewalk
