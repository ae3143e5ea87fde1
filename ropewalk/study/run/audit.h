#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ropewalk/checkpoint/known_headers.h"
#include "ropewalk/study/experiment/experiment.h"

namespace ropewalk {

// Looks for problems of a training run's checkpoints before anything is measured.
struct AuditFinding {
  enum class Kind { missing, duplicate, config, gap };
  Kind kind;
  std::string text;
};

const char* kind_name(AuditFinding::Kind kind);  // The name of a kind: "missing", …

struct Audit {
  size_t checkpoints = 0;  // number of checkpoints with weights of their own
  std::vector<AuditFinding> findings;
};

// Looks at every checkpoint of an experiment, whose patterns must be expanded, and reports: weights
// that are equal to another checkpoint's, missing weights or shards, settings that change within a
// phase, and steps that are missing in an evenly spaced series. For a Hub model it reads branches,
// lists of files with their hashes, and configs, but no weights. For folders it reads configs and,
// with `read_weights`, every byte of every tensor, unless an earlier run stored its hash
// (checkpoint/tensor_hashes.h). `headers` holds headers that were already read, and gets new ones.
Audit audit_experiment(
    const Experiment& experiment, bool read_weights,
    const std::shared_ptr<KnownHeaders>& headers = std::make_shared<KnownHeaders>());

// One line per finding, and their number.
std::string format_audit(const Experiment& experiment, const Audit& audit);

}  // namespace ropewalk
