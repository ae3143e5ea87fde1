#pragma once

#include "ropewalk/study/audit.h"

namespace ropewalk {

// The part of audit_experiment for captured vectors: those that are missing, those of which keys
// are missing, and those that are the same as another's.
Audit audit_vectors(const Experiment& experiment);

}  // namespace ropewalk
