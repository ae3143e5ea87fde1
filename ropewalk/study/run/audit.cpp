#include "ropewalk/study/run/audit.h"

#include <algorithm>
#include <map>
#include <set>

#include "ropewalk/base/error.h"
#include "ropewalk/base/units.h"
#include "ropewalk/checkpoint/config_overrides.h"
#include "ropewalk/model/architecture.h"
#include "ropewalk/model/config/describe_config.h"
#include "ropewalk/study/experiment/revisions.h"
#include "ropewalk/study/run/audit_subjects.h"

namespace ropewalk {
namespace {

using Kind = AuditFinding::Kind;

// The config without entries that differ between programs that write the same config.
Json settings(const AuditSubject& subject) {
  const JsonReader config = override_config(*subject.config, subject.phase->config);
  return describe_config(read_text_model(config).config).flatten();
}

std::string quoted(const std::vector<const AuditSubject*>& subjects) {
  constexpr size_t kMostShown = 8;
  std::string text;
  for (size_t i = 0; i < std::min(subjects.size(), kMostShown); ++i) {
    const bool last = i + 1 == subjects.size();
    text += fmt::format("{}'{}'", i == 0 ? "" : last ? " and " : ", ", subjects[i]->entry->label);
  }
  if (subjects.size() > kMostShown)
    text += fmt::format(" and {} more", subjects.size() - kMostShown);
  return text;
}

void find_duplicates(const std::vector<AuditSubject>& subjects,
                     std::vector<AuditFinding>& findings) {
  std::map<std::map<std::string, std::string>, std::vector<const AuditSubject*>> same;
  std::map<std::pair<std::string, std::string>, std::vector<const AuditSubject*>> files;
  for (const AuditSubject& subject : subjects) {
    if (subject.weights.empty()) continue;
    auto& group = same[subject.weights];
    group.push_back(&subject);
    if (group.size() > 1) continue;  // duplicates are reported once, by their first checkpoint
    for (const auto& file : subject.weights) files[file].push_back(&subject);
  }
  for (const AuditSubject& subject : subjects) {
    const auto group = same.find(subject.weights);
    if (group == same.end() || group->second.front() != &subject) continue;
    if (group->second.size() > 1) {
      findings.push_back(
          {Kind::duplicate, fmt::format("{} have the same {}", quoted(group->second),
                                        subject.entry->vectors ? "vectors" : "weights")});
    }
    for (const auto& file : subject.weights) {
      const auto& sharing = files[file];
      if (sharing.size() > 1 && sharing.front() == &subject) {
        findings.push_back(
            {Kind::duplicate, fmt::format("{} share {}", quoted(sharing), file.first)});
      }
    }
  }
}

void find_changes(const std::vector<AuditSubject>& subjects, std::vector<AuditFinding>& findings) {
  const AuditSubject* before = nullptr;
  Json former;
  for (const AuditSubject& subject : subjects) {
    if (!subject.config) continue;
    Json now;
    try {
      now = settings(subject);
    } catch (const InputError& error) {
      findings.push_back(
          {Kind::config, fmt::format("'{}': {}", subject.entry->label, error.what())});
      continue;
    }
    // Settings may change between phases: this is what phases are for.
    if (before != nullptr && before->phase == subject.phase) {
      std::set<std::string> keys;
      for (const Json* json : {&former, &now}) {
        for (const auto& [key, value] : json->items()) keys.insert(key);
      }
      for (const std::string& key : keys) {
        const Json was = former.value(key, Json());
        const Json is = now.value(key, Json());
        if (was == is) continue;
        std::string name = key.substr(1);
        std::replace(name.begin(), name.end(), '/', '.');
        findings.push_back(
            {Kind::config, fmt::format("{} changes from {} at '{}' to {} at '{}'", name, was.dump(),
                                       before->entry->label, is.dump(), subject.entry->label)});
      }
    }
    before = &subject;
    former = std::move(now);
  }
}

void find_gaps(const Experiment& experiment, std::vector<AuditFinding>& findings) {
  std::map<std::pair<const Phase*, std::string>, std::vector<int64_t>> series;
  for (const Phase& phase : experiment.phases) {
    for (const CheckpointEntry& entry : phase.checkpoints) {
      const std::string name = entry.revision.value_or(entry.path.value_or("").filename().string());
      if (const auto step = revision_step(name))
        series[{&phase, step->series}].push_back(step->step);
    }
  }
  for (const auto& [named, steps] : series) {
    for (const auto& [first, last] : missing_steps(steps)) {
      const std::string which = first == last ? fmt::format("step {}", first)
                                              : fmt::format("steps {} to {}", first, last);
      findings.push_back({Kind::gap, fmt::format("{}…: {} {} missing from the series", named.second,
                                                 which, first == last ? "is" : "are")});
    }
  }
}

}  // namespace

Audit audit_experiment(const Experiment& experiment, bool read_weights,
                       const std::shared_ptr<KnownHeaders>& headers) {
  std::vector<AuditSubject> subjects;
  for (const Phase& phase : experiment.phases) {
    for (const CheckpointEntry& entry : phase.checkpoints) {
      if (!entry.random) subjects.push_back({&phase, &entry, {}, {}, {}});
    }
  }
  Audit audit;
  if (experiment.uses_captured_vectors()) {
    read_vectors(experiment, subjects, audit.findings);
  } else {
    read_subjects(experiment, read_weights, headers, subjects);
  }
  audit.checkpoints = subjects.size();
  for (const AuditSubject& subject : subjects) {
    for (const std::string& missing : subject.missing) {
      audit.findings.push_back(
          {Kind::missing, fmt::format("'{}': {}", subject.entry->label, missing)});
    }
  }
  find_duplicates(subjects, audit.findings);
  find_changes(subjects, audit.findings);
  find_gaps(experiment, audit.findings);
  return audit;
}

const char* kind_name(AuditFinding::Kind kind) {
  switch (kind) {
    case AuditFinding::Kind::missing:
      return "missing";
    case AuditFinding::Kind::duplicate:
      return "duplicate";
    case AuditFinding::Kind::config:
      return "config";
    case AuditFinding::Kind::gap:
      break;
  }
  return "gap";
}

std::string format_audit(const Experiment& experiment, const Audit& audit) {
  std::string text;
  for (const AuditFinding& finding : audit.findings) {
    text += fmt::format("{:<10}{}\n", kind_name(finding.kind), finding.text);
  }
  text +=
      fmt::format("{}: {}, {}\n", experiment.name,
                  format_number_of(static_cast<int64_t>(audit.checkpoints), "checkpoint"),
                  audit.findings.empty()
                      ? "no problems found"
                      : format_number_of(static_cast<int64_t>(audit.findings.size()), "finding"));
  return text;
}

}  // namespace ropewalk
