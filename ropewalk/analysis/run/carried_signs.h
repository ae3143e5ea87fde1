#pragma once

#include <vector>

#include "ropewalk/analysis/table/run_table.h"

namespace ropewalk {

// Two checkpoints have the same PC0 where its overlap is at least this.
inline constexpr double kSameAxis = 0.7;

// Flags of heads.csv.
inline constexpr const char* kAxisChanged = "axis_changed";
inline constexpr const char* kSignUncertain = "sign_uncertain";

// Follows each head's PC0 along a run, checkpoints being in its order: fills pc0_overlap, r_q_run,
// r_k_run and the signs of the axes. The rule that gives r_q and r_k their sign looks at one
// checkpoint at a time, and so turns an axis that did not move; here the first trained checkpoint
// follows the rule, and the next ones keep the sign of the axis that they share. A head whose axis
// changed gets the sign that makes it point along the drift axis, and a flag; another flag says
// where the rule's sign hangs on a number within two standard errors of turning it. Baselines are
// no part of the run. Where checkpoints were measured at several contexts, each context is followed
// on its own, beginning with the signs of the next shorter one (run_order.h).
void carry_signs(std::vector<CheckpointTable>& checkpoints);

// Whether the published rule could give the other sign to r_q and r_k on PC0.
bool sign_uncertain(double r_q, double r_q_se, double r_k, double r_k_se);

}  // namespace ropewalk
