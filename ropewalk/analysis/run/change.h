#pragma once

#include <vector>

#include "ropewalk/analysis/math/estimate.h"
#include "ropewalk/analysis/table/run_table.h"

namespace ropewalk {

// What a number changed by, and how sure that is.
struct Change {
  double value = 0;
  double se = 0;
  double df = 0;  // degrees of freedom

  bool known() const;
  bool real() const;  // whether it exceeds its 95 % interval
  double p_value() const;
};

// How two checkpoints stand to each other: paired where both read the same documents in the same
// blocks, so that what is peculiar to a document cancels.
struct Pairing {
  bool paired = false;
  double df = 0;
};
Pairing pairing(const CheckpointTable& from, const CheckpointTable& to);

// From the replicates of both sides where they are paired, `sizes` being the tokens of the blocks;
// else from both standard errors.
Change subtract(const Estimate& from, const Estimate& to, const std::vector<double>& sizes,
                const Pairing& pairing);

// The smallest false discovery rates at which each of these would be among the discoveries
// (Benjamini & Hochberg 1995); NaN stays, and does not count.
std::vector<double> false_discovery_rates(const std::vector<double>& p_values);

}  // namespace ropewalk
