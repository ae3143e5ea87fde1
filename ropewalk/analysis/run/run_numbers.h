#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ropewalk/analysis/run/depth.h"
#include "ropewalk/analysis/table/run_table.h"
#include "ropewalk/analysis/table/taxonomy.h"
#include "ropewalk/base/files/json.h"

namespace ropewalk {

// What figures and comparisons show of a run: numbers over heads, of PC0, of any table of heads.
// NaN: undefined or unknown. A head counts where its r_q and r_k are both there.

// Mean over heads, spread across them (n - 1), and standard error over documents.
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

// One reading of the heads that have it.
struct ViewNumbers {
  HeadMean over_heads;
  std::array<DepthCell, kDepthBins> depth;  // means in each tenth of the depth
  std::vector<double> components;           // mean of each; of shares alone; empty: unknown
  std::vector<double> heads;                // in the order of CheckpointNumbers::heads
};

struct HeadPoint {
  int64_t layer = 0;
  int64_t q_head = 0;
  std::optional<bool> rope;  // unknown where the table does not say
  HeadClass head_class = HeadClass::mixed;
};

// The mean of a series (series.h) over the heads that have the same points.
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
  int64_t step = CheckpointTable::kUnknown;  // of training
  int64_t tokens = CheckpointTable::kUnknown;
  int64_t context = 0;                                  // tokens per document; 0: unknown
  int64_t undefined = 0;                                // heads left out because a value is missing
  std::vector<HeadPoint> heads;                         // by layer, then head
  int64_t last_layer = 0;                               // the model's highest layer index
  std::vector<ViewNumbers> views;                       // in the order of all_views()
  std::array<ClassShare, kHeadClasses.size()> classes;  // in the order of kHeadClasses
  std::array<int64_t, kDepthBins> depth_heads{};
  // In the order of series(); of bands over RoPE heads, by set of angles, of curves over all heads.
  // Empty: the run has no such table.
  std::vector<std::vector<SeriesNumbers>> series;
  HeadMean loss{std::nan(""), std::nan(""), std::nan("")};  // nats per token, with its error
};

struct RunNumbers {
  std::string source;                          // the table, for messages
  std::string model;                           // its name, where all checkpoints share one
  std::vector<CheckpointNumbers> checkpoints;  // in the order of training
  std::vector<CheckpointNumbers> baselines;    // freshly initialised weights
  bool models = false;                         // checkpoints are models side by side
  bool standard_errors = false;                // whether a summary gave any
  // The first checkpoint whose means by rotary pair or by distance the summary states otherwise, so
  // that they are without errors; empty: none.
  std::string other_series;
};

// `summary` (null: none) adds standard errors, and the model's last layer where the heads measured
// do not reach it. Throws InputError naming `summary_source` where it disagrees with the table: it
// then belongs to another one; and where no head counts, as there is then nothing to show.
RunNumbers run_numbers(const RunTable& table, const Json& summary = {},
                       const std::string& summary_source = {});

}  // namespace ropewalk
