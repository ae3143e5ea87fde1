#pragma once

#include <string>

#include "ropewalk/analysis/run/run_numbers.h"

namespace ropewalk {

// Whether checkpoints, including baselines, were measured at several contexts. Figures then state
// each context, because classes and r depend on it.
bool contexts_differ(const RunNumbers& run);

// "@1024" where contexts differ and the checkpoint's label does not already end with it; else
// empty.
std::string context_mark(const RunNumbers& run, const CheckpointNumbers& numbers);

// A checkpoint's phase with this mark: "LC 512→1K @1024".
std::string phase_with_context(const RunNumbers& run, const CheckpointNumbers& numbers);

// Notes for figures of r and classes on PC0, as sentences that begin with a space: what PC0 mostly
// consists of at the run's last checkpoint, or in models; and that contexts of models differ. Empty
// where this is unknown.
std::string notes_on_pc0(const RunNumbers& run);

}  // namespace ropewalk
