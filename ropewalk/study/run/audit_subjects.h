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

// What is known about a checkpoint without reading its weights.
struct AuditSubject {
  const Phase* phase = nullptr;
  const CheckpointEntry* entry = nullptr;
  // from the name of a weight file (or "all") to its hash
  std::map<std::string, std::string> weights;
  std::optional<JsonReader> config;
  std::vector<std::string> missing;
};

// Fills in what can be learned from the Hub or from the folders.
void read_subjects(const Experiment& experiment, bool read_weights,
                   const std::shared_ptr<KnownHeaders>& headers,
                   std::vector<AuditSubject>& subjects);

// The same for captured vectors: the hashes of those that a run uses, and findings about the
// others.
void read_vectors(const Experiment& experiment, std::vector<AuditSubject>& subjects,
                  std::vector<AuditFinding>& findings);

}  // namespace ropewalk
