#pragma once

#include <vector>

#include "ropewalk/analysis/math/estimate.h"
#include "ropewalk/analysis/table/run_table.h"

namespace ropewalk {

// The change of a number, with its standard error.
struct Change {
  double value = 0;
  double se = 0;
  double df = 0;  // degrees of freedom

  bool known() const;
  bool real() const;  // whether 0 is outside its 95 % interval
  double p_value() const;
};

// How two checkpoints are compared: paired where both read the same documents in the same blocks,
// so that the peculiarities of documents cancel.
struct Pairing {
  bool paired = false;
  double df = 0;
};
Pairing pairing(const CheckpointTable& from, const CheckpointTable& to);

// Returns `to` less `from`. Its error comes from the replicates of both where they are paired, with
// `sizes` the tokens of each block, and from both standard errors otherwise.
Change subtract(const Estimate& from, const Estimate& to, const std::vector<double>& sizes,
                const Pairing& pairing);

}  // namespace ropewalk
