#include "ropewalk/study/study.h"

#include <algorithm>

#include "ropewalk/base/error.h"
#include "ropewalk/base/log.h"
#include "ropewalk/base/units.h"
#include "ropewalk/study/revisions.h"
#include "ropewalk/study/study_documents.h"
#include "ropewalk/study/yaml_map.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

void check_only(const Study& study) {
  std::vector<std::string_view> labels;
  for (const PlannedCheckpoint& planned : study.plan.checkpoints) {
    labels.push_back(planned.capture.label);
    labels.push_back(planned.checkpoint);
  }
  for (const std::string& label : study.options.only) {
    if (std::find(labels.begin(), labels.end(), label) != labels.end()) continue;
    const std::string near = nearest(label, labels);
    throw UsageError("--only {}: {} has no such checkpoint{}", label,
                     study.options.experiment.string(),
                     near.empty() ? "" : fmt::format("; did you mean '{}'?", near));
  }
}

// Looks at the checkpoints before anything is spent on them. Without a Hub to ask, what is in the
// cache can be measured all the same.
Audit try_audit(const Experiment& experiment) {
  try {
    return audit_experiment(experiment, /*read_weights=*/false);
  } catch (const InputError& error) {
    log::info("no audit: {}", error.what());
  } catch (const SystemError& error) {
    log::info("no audit: {}", error.what());
  }
  return {};
}

// A checkpoint that cannot be measured ends the run before it begins, unless the rest is to be
// measured without it; what else is odd is for the reader to judge.
void check_audit(const Study& study, const Audit& audit) {
  for (const AuditFinding& finding : audit.findings) {
    if (finding.kind == AuditFinding::Kind::missing && !study.options.keep_going) {
      throw InputError("{}: {}", study.experiment.file.string(), finding.text);
    }
    log::warning("audit: {}", finding.text);
  }
}

}  // namespace

std::vector<std::string> Study::labels() const {
  std::vector<std::string> labels;
  for (const PlannedCheckpoint& planned : plan.checkpoints) labels.push_back(planned.capture.label);
  for (const CheckpointFailure& failure : plan.failures) labels.push_back(failure.label);
  return labels;
}

bool Study::wanted(const PlannedCheckpoint& planned) const {
  return options.only.empty() ||
         std::any_of(options.only.begin(), options.only.end(), [&](const std::string& label) {
           return label == planned.capture.label || label == planned.checkpoint;
         });
}

const DocumentSet& Study::documents_for(int64_t context, int64_t count) const {
  const auto there = static_cast<int64_t>(documents.documents.size());
  if (context >= plan.longest_context && (count < 0 || count >= there)) return documents;
  const auto [found, added] = cut_.try_emplace({context, count});
  if (added) found->second = cut_documents(documents, context, count);
  return found->second;
}

Study open_study(const RunOptions& options) {
  const Communicator& processes = options.processes;
  Study study;
  study.options = options;
  study.experiment = read_experiment(options.experiment);
  expand_revisions(study.experiment);
  study.out = options.out.value_or(fs::path("out") / options.experiment.stem());
  const bool vectors = study.experiment.from_vectors();
  if (vectors && processes.count() > 1) {
    throw UsageError("captured vectors are for one process, and these are {}", processes.count());
  }
  const Audit audit = processes.first() ? try_audit(study.experiment) : Audit();
  study.plan = plan_study(study.experiment, study.out, options.keep_going, processes);
  check_only(study);
  check_audit(study, audit);
  if (processes.first() && !vectors) {
    study.documents = study_documents(study.experiment, study.plan, study.dataset);
  }
  const auto count = [](const auto& list, const char* thing) {
    return format_number_of(static_cast<int64_t>(list.size()), thing);
  };
  if (vectors) {
    log::info("{}: {}, captured vectors", study.experiment.name,
              count(study.plan.checkpoints, "checkpoint"));
    return study;
  }
  log::info("{}: {}, {} of up to {} tokens; {}", study.experiment.name,
            count(study.plan.checkpoints, "checkpoint"),
            count(study.documents.documents, "document"), study.plan.longest_context,
            study.documents.describe_skipped());
  return study;
}

}  // namespace ropewalk
