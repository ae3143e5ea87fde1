#pragma once

#include <string>

#include "ropewalk/analysis/run/run_numbers.h"

namespace ropewalk {

// Whether checkpoints, baselines among them, were read at several contexts: figures then name that
// of each, as classes and r depend on it.
bool contexts_differ(const RunNumbers& run);

// "@1024" where contexts differ and the checkpoint's label does not end so already; else empty.
std::string context_mark(const RunNumbers& run, const CheckpointNumbers& numbers);

// A checkpoint's phase with that mark: "LC 512→1K @1024".
std::string phase_with_context(const RunNumbers& run, const CheckpointNumbers& numbers);

// For figures of r and classes on PC0, sentences that begin with a space: what PC0 is mostly made
// of at the run's last checkpoint, or in models, and that contexts of models differ. Empty where
// nobody knows.
std::string notes_on_pc0(const RunNumbers& run);

}  // namespace ropewalk
