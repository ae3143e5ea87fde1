#pragma once

#include "ropewalk/study/audit.h"

namespace ropewalk {

// The part of audit_experiment for captured vectors: those that a run refuses, and those that are
// the same as another's. Throws what is no InputError, such as a Hub that does not answer.
Audit audit_vectors(const Experiment& experiment);

}  // namespace ropewalk
