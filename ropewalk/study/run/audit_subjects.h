#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ropewalk/base/files/json_reader.h"
#include "ropewalk/study/experiment/experiment.h"
#include "ropewalk/study/run/audit.h"

namespace ropewalk {

// What is known of a checkpoint without its weights.
struct AuditSubject {
  const Phase* phase = nullptr;
  const CheckpointEntry* entry = nullptr;
  std::map<std::string, std::string> weights;  // name of a weight file (or "all") and its hash
  std::optional<JsonReader> config;
  std::vector<std::string> missing;
};

// Fills in what is known where the checkpoints are: on the Hub or in folders.
void read_subjects(const Experiment& experiment, bool read_weights,
                   const std::shared_ptr<KnownHeaders>& headers,
                   std::vector<AuditSubject>& subjects);

// Of captured vectors: the hashes of those that a run takes, and findings for the others.
void read_vectors(const Experiment& experiment, std::vector<AuditSubject>& subjects,
                  std::vector<AuditFinding>& findings);

}  // namespace ropewalk
