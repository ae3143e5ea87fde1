#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ropewalk/checkpoint/known_headers.h"
#include "ropewalk/study/experiment/experiment.h"

namespace ropewalk {

// What is odd about a training run's checkpoints, before anything is measured.
struct AuditFinding {
  enum class Kind { missing, duplicate, config, gap };
  Kind kind;
  std::string text;
};

const char* kind_name(AuditFinding::Kind kind);  // "missing", …

struct Audit {
  size_t checkpoints = 0;  // with weights of their own
  std::vector<AuditFinding> findings;
};

// Looks at every checkpoint of an experiment whose patterns are expanded: weights that are the same
// as another's, weights or shards that are missing, settings that change within a phase, steps that
// an evenly spaced series leaves out. Of a Hub model it reads branches, lists of files with their
// hashes, and configs; no weights. Of folders, configs and, where `read_weights`, every byte of
// every tensor, unless an earlier run remembers its hash (checkpoint/tensor_hashes.h).
// `headers`: what was read of any checkpoints, here too.
Audit audit_experiment(
    const Experiment& experiment, bool read_weights,
    const std::shared_ptr<KnownHeaders>& headers = std::make_shared<KnownHeaders>());

// One line a finding, and how many there are.
std::string format_audit(const Experiment& experiment, const Audit& audit);

}  // namespace ropewalk
