#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ropewalk/analysis/estimate.h"

namespace ropewalk {

// PC0 of a group of heads, in the whole sample or without one block. Heads whose numbers are
// undefined are left out beforehand.
struct HeadNumbers {
  std::vector<double> r_q;
  std::vector<double> r_k;
  std::vector<double> explained_variance;
};

// A group of heads of one checkpoint, ready for statistics.
struct HeadGroup {
  std::vector<const HeadAnalysis*> heads;  // with PC0 defined
  int64_t undefined = 0;                   // heads left out
  HeadNumbers all;
  std::vector<HeadNumbers> without;  // each block
  std::vector<double> block_sizes;   // tokens
};

HeadGroup make_group(const CheckpointAnalysis& checkpoint,
                     const std::function<bool(const HeadAnalysis&)>& member);

// A number computed from a group: NaN for an empty one.
using Statistic = std::function<double(const HeadNumbers&)>;

// Smooth statistics, for which the jackknife holds, by their name in summary.json.
const std::vector<std::pair<std::string, Statistic>>& smooth_statistics();

// The statistic with its jackknife replicates and standard error.
Estimate estimate(const HeadGroup& group, const Statistic& statistic);

// Fractions of heads in each class, in the order of kHeadClasses: values, and values under each
// draw of block_draws (empty without replicates). Heads whose numbers are undefined without some
// block have no standard error, and are left out of the draws.
struct ClassFractions {
  std::vector<double> values;
  std::vector<std::vector<double>> drawn;  // [class][draw]
};
ClassFractions class_fractions(const HeadGroup& group);

}  // namespace ropewalk
