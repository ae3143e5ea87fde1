#include "ropewalk/study/audit_vectors.h"

#include <map>

#include "ropewalk/base/error.h"
#include "ropewalk/study/hub_place.h"
#include "ropewalk/study/vectors_source.h"

namespace ropewalk {

Audit audit_vectors(const Experiment& experiment) {
  using Kind = AuditFinding::Kind;
  Audit audit;
  std::map<std::string, std::string> first;  // label, by digest
  for (const Phase& phase : experiment.phases) {
    for (const CheckpointEntry& entry : phase.checkpoints) {
      ++audit.checkpoints;
      const bool hub = is_hub_place(*entry.vectors);
      try {
        const VectorsSource source =
            find_vectors(hub ? *entry.vectors : experiment.resolve(*entry.vectors).string());
        // Without a model, vectors must say themselves which keys their queries meet.
        if (!experiment.model_of(phase)) require_keys(source, facts_of(source).group);
        const auto [same, fresh] = first.try_emplace(source.digest(), entry.label);
        if (fresh) continue;
        audit.findings.push_back(
            {Kind::duplicate,
             fmt::format("'{}' and '{}' have the same vectors", same->second, entry.label)});
      } catch (const InputError& error) {
        audit.findings.push_back(
            {Kind::missing, fmt::format("'{}': {}", entry.label, error.what())});
      }
    }
  }
  return audit;
}

}  // namespace ropewalk
