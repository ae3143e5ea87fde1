#include "ropewalk/study/run/audit.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>

#include "ropewalk/base/error.h"
#include "ropewalk/base/processes/parallel.h"
#include "ropewalk/base/units.h"
#include "ropewalk/checkpoint/config_overrides.h"
#include "ropewalk/checkpoint/weight_names.h"
#include "ropewalk/model/config/describe_config.h"
#include "ropewalk/study/capture/capture_vectors.h"
#include "ropewalk/study/experiment/revisions.h"
#include "ropewalk/study/experiment/yaml_map.h"
#include "ropewalk/study/run/plan.h"
#include "ropewalk/study/source/locate.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

using Kind = AuditFinding::Kind;
constexpr size_t kParallel = 8;  // requests at a time

// What is known of a checkpoint without its weights.
struct AuditedCheckpoint {
  const Phase* phase = nullptr;
  const CheckpointEntry* entry = nullptr;
  std::map<std::string, std::string> weights;  // name of a weight file (or "all") and its hash
  std::optional<JsonReader> config;
  std::vector<std::string> missing;
};

// Everything but what differs between programs that write the same config.
Json settings(const AuditedCheckpoint& subject) {
  const JsonReader config = override_config(*subject.config, subject.phase->config);
  return describe_config(read_text_model(config).config).flatten();
}

// Notes the weights among a revision's files, and what is missing.
void read_files(const std::vector<HubFile>& files, AuditedCheckpoint& subject) {
  std::set<std::string> names;
  for (const HubFile& file : files) names.insert(file.name);
  const auto there =
      std::find_if(kWeightNames.begin(), kWeightNames.end(), [&](const WeightNames& kind) {
        return names.contains(kind.index()) || names.contains(kind.single());
      });
  const WeightNames& container = there == kWeightNames.end() ? kWeightNames[0] : *there;
  const bool index = names.contains(container.index());
  const bool numbered = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return container.shard_count(name) > 0;
  });
  std::vector<std::string> absent;
  std::set<int> counts;
  for (const HubFile& file : files) {
    const int count = container.shard_count(file.name);
    // An index may name its shards as it likes; most number them.
    const bool shard = index && (numbered ? count > 0 : file.name.ends_with(container.ending));
    if (!shard && (index || file.name != container.single())) continue;
    subject.weights[file.name] = file.etag;
    if (file.size == 0) subject.missing.push_back(file.name + " is empty");
    if (shard && numbered) counts.insert(count);
  }
  for (const int count : counts) {
    for (int i = 1; i <= count; ++i) {
      if (!names.contains(container.shard(i, count))) absent.push_back(container.shard(i, count));
    }
  }
  if (absent.size() == 1) subject.missing.push_back("shard " + absent[0] + " is missing");
  if (absent.size() > 1) {
    subject.missing.push_back(
        fmt::format("{} shards are missing, {} first", absent.size(), absent[0]));
  }
  if (!names.contains("config.json")) subject.missing.push_back("config.json is missing");
  if (!subject.weights.empty()) return;
  subject.missing.push_back(index ? "every shard is missing"
                                  : "weights are missing: neither model.safetensors nor "
                                    "pytorch_model.bin, nor an index of either's shards");
}

void read_hub(const std::string& id, const std::string& commit, AuditedCheckpoint& subject) {
  Hub& hub = shared_hub();
  const HubRepository repository{HubRepository::Kind::model, id};
  std::vector<HubFile> files = hub.tree(repository, commit, subject.entry->subfolder);
  const auto config = std::find_if(files.begin(), files.end(), [](const HubFile& file) {
    return fs::path(file.name).filename() == "config.json";
  });
  const std::optional<HubFile> found =
      config == files.end() ? std::nullopt : std::optional(*config);
  for (HubFile& file : files) file.name = fs::path(file.name).filename().string();
  read_files(files, subject);
  if (!found) return;
  // The same bytes serve every revision, so most configs cost no request.
  hub.fetch(repository, commit, std::vector{*found}, {"config.json", false, {}});
  try {
    subject.config.emplace(hub.cache(repository).file(commit, found->name));
  } catch (const InputError& error) {
    subject.missing.push_back(error.what());
  }
}

void read_folder(const fs::path& folder, bool read_weights,
                 const std::shared_ptr<KnownHeaders>& headers, AuditedCheckpoint& subject) {
  try {
    const Checkpoint checkpoint(folder, headers);
    subject.config = checkpoint.config();
    if (read_weights) subject.weights["all"] = checkpoint.digest();
  } catch (const std::runtime_error& error) {
    subject.missing.push_back(error.what());
  }
}

// A model that checkpoints without a path are of.
struct ModelSource {
  std::string name;
  fs::path folder;                          // empty: on the Hub
  std::map<std::string, std::string> refs;  // there, and their commits
};

// The models of checkpoints, by their phases; the Hub is asked once for each.
std::map<const Phase*, const ModelSource*> find_model_sources(
    const Experiment& experiment, const std::vector<AuditedCheckpoint>& subjects,
    std::map<std::string, ModelSource>& sources) {
  std::map<const Phase*, const ModelSource*> found;
  for (const AuditedCheckpoint& subject : subjects) {
    const std::optional<std::string>& name = experiment.model_of(*subject.phase);
    if (subject.entry->path || found.contains(subject.phase)) continue;
    ModelSource& source = sources.try_emplace(name.value_or("")).first->second;
    found[subject.phase] = &source;
    if (!source.name.empty()) continue;
    source.name = name.value_or("");
    const fs::path folder = experiment.resolve(source.name);
    std::error_code ignored;
    if (!name || fs::is_directory(folder, ignored)) {
      source.folder = folder;
      continue;
    }
    if (!is_hub_id(source.name)) {
      throw InputError("{}: model '{}' is neither a folder nor a Hub model (org/name)",
                       experiment.at(experiment.model_line_of(*subject.phase)), source.name);
    }
    source.refs = shared_hub().refs({HubRepository::Kind::model, source.name});
  }
  return found;
}

// Fills in what the checkpoints' places tell.
void read_subjects(const Experiment& experiment, bool read_weights,
                   const std::shared_ptr<KnownHeaders>& headers,
                   std::vector<AuditedCheckpoint>& subjects) {
  std::map<std::string, ModelSource> sources;
  const std::map<const Phase*, const ModelSource*> models =
      find_model_sources(experiment, subjects, sources);
  run_parallel(subjects.size(), kParallel, {}, [&](size_t i, const std::stop_token&) {
    AuditedCheckpoint& subject = subjects[i];
    const CheckpointEntry& entry = *subject.entry;
    if (entry.path) {
      return read_folder(experiment.resolve(*entry.path), read_weights, headers, subject);
    }
    const ModelSource& source = *models.at(subject.phase);
    if (!source.folder.empty()) {
      return read_folder(experiment.folder_in(source.folder, entry), read_weights, headers,
                         subject);
    }
    if (is_commit(*entry.revision)) return read_hub(source.name, *entry.revision, subject);
    const auto found = source.refs.find(*entry.revision);
    if (found != source.refs.end()) return read_hub(source.name, found->second, subject);
    std::vector<std::string_view> names;
    for (const auto& [name, commit] : source.refs) names.push_back(name);
    const std::string near = nearest(*entry.revision, names);
    subject.missing.push_back(
        fmt::format("{} has no revision '{}'{}", source.name, *entry.revision,
                    near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
  });
}

// Of captured vectors: those that a run refuses, and the hashes of the others.
void read_vectors(const Experiment& experiment, std::vector<AuditedCheckpoint>& subjects,
                  std::vector<AuditFinding>& findings) {
  const StudyPlan plan = plan_study(experiment, {}, /*keep_going=*/true, {});
  for (const CheckpointFailure& failure : plan.failures) {
    try {
      std::rethrow_exception(failure.error);
    } catch (const InputError& error) {
      findings.push_back({Kind::missing, error.what()});
    }
  }
  for (const PlannedCheckpoint& planned : plan.checkpoints) {
    const auto subject = std::find_if(
        subjects.begin(), subjects.end(),
        [&](const AuditedCheckpoint& one) { return one.entry->label == planned.checkpoint; });
    subject->weights["all"] = planned.vectors->info.weights;
  }
}

std::string quoted(const std::vector<const AuditedCheckpoint*>& subjects) {
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

void find_duplicates(const std::vector<AuditedCheckpoint>& subjects,
                     std::vector<AuditFinding>& findings) {
  std::map<std::map<std::string, std::string>, std::vector<const AuditedCheckpoint*>> same;
  std::map<std::pair<std::string, std::string>, std::vector<const AuditedCheckpoint*>> files;
  for (const AuditedCheckpoint& subject : subjects) {
    if (subject.weights.empty()) continue;
    auto& group = same[subject.weights];
    group.push_back(&subject);
    if (group.size() > 1) continue;  // of duplicates, the first speaks for all
    for (const auto& file : subject.weights) files[file].push_back(&subject);
  }
  for (const AuditedCheckpoint& subject : subjects) {
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

void find_changes(const std::vector<AuditedCheckpoint>& subjects,
                  std::vector<AuditFinding>& findings) {
  const AuditedCheckpoint* before = nullptr;
  Json former;
  for (const AuditedCheckpoint& subject : subjects) {
    if (!subject.config) continue;
    Json now;
    try {
      now = settings(subject);
    } catch (const InputError& error) {
      findings.push_back(
          {Kind::config, fmt::format("'{}': {}", subject.entry->label, error.what())});
      continue;
    }
    // Between phases, settings may change: that is what phases are for.
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
  std::vector<AuditedCheckpoint> subjects;
  for (const Phase& phase : experiment.phases) {
    for (const CheckpointEntry& entry : phase.checkpoints) {
      if (!entry.random) subjects.push_back({&phase, &entry, {}, {}, {}});
    }
  }
  Audit audit;
  if (experiment.from_vectors()) {
    read_vectors(experiment, subjects, audit.findings);
  } else {
    read_subjects(experiment, read_weights, headers, subjects);
  }
  audit.checkpoints = subjects.size();
  for (const AuditedCheckpoint& subject : subjects) {
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
                      ? "nothing odd"
                      : format_number_of(static_cast<int64_t>(audit.findings.size()), "finding"));
  return text;
}

}  // namespace ropewalk
