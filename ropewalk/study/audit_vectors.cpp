#include "ropewalk/study/audit_vectors.h"

#include <map>

#include "ropewalk/base/error.h"
#include "ropewalk/study/plan_vectors.h"

namespace ropewalk {

Audit audit_vectors(const Experiment& experiment) {
  using Kind = AuditFinding::Kind;
  const StudyPlan plan = list_vectors(experiment, {}, /*keep_going=*/true);
  Audit audit;
  audit.checkpoints = plan.checkpoints.size() + plan.failures.size();
  for (const CheckpointFailure& failure : plan.failures) {
    try {
      std::rethrow_exception(failure.error);
    } catch (const InputError& error) {
      // A model that is not there is the same finding at each checkpoint.
      if (!audit.findings.empty() && audit.findings.back().text == error.what()) continue;
      audit.findings.push_back({Kind::missing, error.what()});
    }
  }
  std::map<std::string, std::string> first;  // label, by digest
  for (const PlannedCheckpoint& planned : plan.checkpoints) {
    const auto [same, fresh] = first.try_emplace(planned.vectors->info.weights, planned.checkpoint);
    if (fresh) continue;
    audit.findings.push_back({Kind::duplicate, fmt::format("'{}' and '{}' have the same vectors",
                                                           same->second, planned.checkpoint)});
  }
  return audit;
}

}  // namespace ropewalk
