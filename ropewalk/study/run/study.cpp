#include "ropewalk/study/run/study.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "ropewalk/base/error.h"
#include "ropewalk/base/log.h"
#include "ropewalk/base/printable.h"
#include "ropewalk/base/units.h"
#include "ropewalk/study/experiment/revisions.h"
#include "ropewalk/study/experiment/yaml_map.h"
#include "ropewalk/study/run/analysis_memory.h"
#include "ropewalk/study/run/plan_checks.h"
#include "ropewalk/study/run/study_documents.h"

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
    for (const CheckpointFailure& failure : study.plan.failures) {
      if (failure.label == label) std::rethrow_exception(failure.error);
    }
    const std::string near = nearest(label, labels);
    std::set<std::string_view> known(labels.begin(), labels.end());
    throw UsageError(
        "--only {}: {} does not have this checkpoint; {}", label, study.options.experiment.string(),
        near.empty() ? "it has " + printable_excerpt(fmt::format("{}", fmt::join(known, ", ")), 400)
                     : fmt::format("did you mean '{}'?", near));
  }
}

// Checks the checkpoints before anything is downloaded or computed. Without access to the Hub, what
// is in the cache can still be measured.
Audit try_audit(const Experiment& experiment, const std::shared_ptr<KnownHeaders>& headers) {
  try {
    return audit_experiment(experiment, /*read_weights=*/false, headers);
  } catch (const InputError& error) {
    log::info("no audit: {}", error.what());
  } catch (const SystemError& error) {
    log::info("no audit: {}", error.what());
  }
  return {};
}

// A checkpoint that cannot be measured ends the run before it begins, unless the others are to be
// measured without it. Other findings are only reported.
void check_audit(const Study& study, const Audit& audit) {
  for (const AuditFinding& finding : audit.findings) {
    if (finding.kind == AuditFinding::Kind::missing && !study.options.keep_going) {
      throw InputError("{}: {}", study.experiment.file.string(), finding.text);
    }
    log::warning("audit: {}", finding.text);
  }
}

// What the probes for a text's checkpoints are made of.
void add_probe_words(Study& study, size_t text) {
  const std::string& tokenizer = study.documents[text].tokenizer_path;
  const TextPlan& plan = study.plan.texts[text];
  const std::string line = study.experiment.at(study.experiment.probes_line);
  try {
    study.probe_words.push_back(find_probe_words(
        tokenizer.empty() ? std::nullopt : std::optional<fs::path>(tokenizer), plan.vocabulary));
  } catch (const InputError& error) {
    throw InputError("{}: {}", line, error.what());
  }
  const int64_t least = shortest_probe(study.probe_words.back());
  if (plan.longest_context >= least) return;
  throw InputError("{}: probes: need a context of at least {} tokens, but the longest is {}", line,
                   least, plan.longest_context);
}

// The models that read a text: "qwen3-4b, qwen3-8b".
std::string models_reading(const StudyPlan& plan, size_t text) {
  std::string labels;
  for (const PlannedCheckpoint& planned : plan.checkpoints) {
    if (planned.text == text) labels += (labels.empty() ? "" : ", ") + planned.capture.label;
  }
  return labels;
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

const DocumentSet& Study::documents_for(const PlannedCheckpoint& planned, int64_t context) const {
  const DocumentSet& all = documents[planned.text];
  if (context >= plan.texts[planned.text].longest_context) return all;
  const auto [found, added] = cut_.try_emplace({planned.text, context});
  if (added) found->second = cut_documents(all, context);
  return found->second;
}

Study open_study(const RunOptions& options) {
  const Communicator& processes = options.processes;
  Study study;
  const Timeline::Span opening(*study.timeline, "open");
  study.options = options;
  study.experiment = read_experiment(options.experiment);
  expand_revisions(study.experiment);
  if (options.out && options.out->empty()) throw UsageError("--out: is empty; name a folder");
  study.out = options.out.value_or(fs::path("out") / options.experiment.stem());
  const bool vectors = study.experiment.uses_captured_vectors();
  if (vectors && processes.count() > 1) {
    throw UsageError("captured vectors are read by one process, but these are {}",
                     processes.count());
  }
  const auto headers = std::make_shared<KnownHeaders>();
  const Audit audit = processes.first() ? try_audit(study.experiment, headers) : Audit();
  study.plan = plan_study(study.experiment, study.out, options.keep_going, processes, headers);
  if (study.plan.checkpoints.empty()) {
    throw InputError("{}: no checkpoint can be measured; '{}': {}", study.experiment.file.string(),
                     study.plan.failures.front().label, study.plan.failures.front().text());
  }
  check_only(study);
  if (processes.first()) warn_of_memory(study);
  check_audit(study, audit);
  if (processes.first() && !vectors) warn_of_contexts(study.experiment, study.plan);
  study.documents.resize(study.plan.texts.size());
  for (size_t text = 0; processes.first() && !vectors && text < study.documents.size(); ++text) {
    const Timeline::Span span(*study.timeline, "documents");
    study.documents[text] = study_documents(study.experiment, study.plan, text, study.dataset);
    study.timeline->add("tokens", study.documents[text].waited);
    if (study.experiment.probes) add_probe_words(study, text);
    if (!study.experiment.ablate) continue;
    study.ablate_documents.push_back(
        ablate_documents(study.experiment, study.plan, text, study.documents[text]));
  }
  const auto count = [](const auto& list, const char* thing) {
    return format_number_of(static_cast<int64_t>(list.size()), thing);
  };
  const std::string what =
      count(study.plan.checkpoints, study.experiment.models ? "model" : "checkpoint");
  if (vectors) {
    log::info("{}: {}, captured vectors", study.experiment.name, what);
    return study;
  }
  for (size_t text = 0; text < study.documents.size(); ++text) {
    const DocumentSet& documents = study.documents[text];
    const TextPlan& plan = study.plan.texts[text];
    log::info("{}: {}, {} of up to {} tokens; {}", study.experiment.name,
              study.documents.size() > 1 ? models_reading(study.plan, text) : what,
              count(documents.documents, "document"), plan.longest_context,
              documents.describe_skipped());
  }
  return study;
}

}  // namespace ropewalk
