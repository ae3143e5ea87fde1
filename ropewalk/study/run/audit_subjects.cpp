#include "ropewalk/study/run/audit_subjects.h"

#include <algorithm>
#include <set>

#include "ropewalk/base/error.h"
#include "ropewalk/base/processes/parallel.h"
#include "ropewalk/checkpoint/weight_names.h"
#include "ropewalk/study/capture/capture_vectors.h"
#include "ropewalk/study/experiment/revisions.h"
#include "ropewalk/study/experiment/yaml_map.h"
#include "ropewalk/study/run/plan.h"
#include "ropewalk/study/source/locate.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

constexpr size_t kParallel = 8;  // most requests at a time

// Records the weights among a revision's files, and what is missing.
void read_files(const std::vector<HubFile>& files, AuditSubject& subject) {
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
    // An index may give its shards any name; most number them.
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
        fmt::format("{} shards are missing; the first is {}", absent.size(), absent[0]));
  }
  if (!names.contains("config.json")) subject.missing.push_back("config.json is missing");
  if (!subject.weights.empty()) return;
  subject.missing.push_back(index ? "every shard is missing"
                                  : "weights are missing: neither model.safetensors nor "
                                    "pytorch_model.bin, nor an index of either's shards");
}

void read_hub(const std::string& id, const std::string& commit, AuditSubject& subject) {
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
  // Most revisions share one config file, so most cost no request.
  hub.fetch(repository, commit, std::vector{*found}, {"config.json", false, {}});
  try {
    subject.config.emplace(hub.cache(repository).file(commit, found->name));
  } catch (const InputError& error) {
    subject.missing.push_back(error.what());
  }
}

void read_folder(const fs::path& folder, bool read_weights,
                 const std::shared_ptr<KnownHeaders>& headers, AuditSubject& subject) {
  try {
    const Checkpoint checkpoint(folder, headers);
    subject.config = checkpoint.config();
    if (read_weights) subject.weights["all"] = checkpoint.digest();
  } catch (const std::runtime_error& error) {
    subject.missing.push_back(error.what());
  }
}

// A model that contains checkpoints without a path of their own.
struct ModelSource {
  std::string name;
  fs::path folder;                          // empty: the model is on the Hub
  std::map<std::string, std::string> refs;  // branches and tags on the Hub, with their commits
};

// The models of checkpoints, by phase; the Hub is asked once per model.
std::map<const Phase*, const ModelSource*> find_model_sources(
    const Experiment& experiment, const std::vector<AuditSubject>& subjects,
    std::map<std::string, ModelSource>& indexes) {
  std::map<const Phase*, const ModelSource*> found;
  for (const AuditSubject& subject : subjects) {
    const std::optional<std::string>& name = experiment.model_of(*subject.phase);
    if (subject.entry->path || found.contains(subject.phase)) continue;
    ModelSource& index = indexes.try_emplace(name.value_or("")).first->second;
    found[subject.phase] = &index;
    if (!index.name.empty()) continue;
    index.name = name.value_or("");
    const fs::path folder = experiment.resolve(index.name);
    std::error_code ignored;
    if (!name || fs::is_directory(folder, ignored)) {
      index.folder = folder;
      continue;
    }
    if (!is_hub_id(index.name)) {
      throw InputError("{}: model '{}' is neither a folder nor a Hub model (org/name)",
                       experiment.at(experiment.model_line_of(*subject.phase)), index.name);
    }
    index.refs = shared_hub().refs({HubRepository::Kind::model, index.name});
  }
  return found;
}

}  // namespace

void read_subjects(const Experiment& experiment, bool read_weights,
                   const std::shared_ptr<KnownHeaders>& headers,
                   std::vector<AuditSubject>& subjects) {
  std::map<std::string, ModelSource> indexes;
  const std::map<const Phase*, const ModelSource*> models =
      find_model_sources(experiment, subjects, indexes);
  run_parallel(subjects.size(), kParallel, {}, [&](size_t i, const std::stop_token&) {
    AuditSubject& subject = subjects[i];
    const CheckpointEntry& entry = *subject.entry;
    if (entry.path) {
      return read_folder(experiment.resolve(*entry.path), read_weights, headers, subject);
    }
    const ModelSource& index = *models.at(subject.phase);
    if (!index.folder.empty()) {
      return read_folder(experiment.folder_in(index.folder, entry), read_weights, headers, subject);
    }
    if (is_commit(*entry.revision)) return read_hub(index.name, *entry.revision, subject);
    const auto found = index.refs.find(*entry.revision);
    if (found != index.refs.end()) return read_hub(index.name, found->second, subject);
    std::vector<std::string_view> names;
    for (const auto& [name, commit] : index.refs) names.push_back(name);
    const std::string near = nearest(*entry.revision, names);
    subject.missing.push_back(
        fmt::format("{} has no revision '{}'{}", index.name, *entry.revision,
                    near.empty() ? "" : fmt::format("; did you mean '{}'?", near)));
  });
}

void read_vectors(const Experiment& experiment, std::vector<AuditSubject>& subjects,
                  std::vector<AuditFinding>& findings) {
  const StudyPlan plan = plan_study(experiment, {}, /*keep_going=*/true, {});
  for (const CheckpointFailure& failure : plan.failures) {
    try {
      std::rethrow_exception(failure.error);
    } catch (const InputError& error) {
      findings.push_back({AuditFinding::Kind::missing, error.what()});
    }
  }
  for (const PlannedCheckpoint& planned : plan.checkpoints) {
    const auto subject = std::find_if(
        subjects.begin(), subjects.end(),
        [&](const AuditSubject& one) { return one.entry->label == planned.checkpoint; });
    subject->weights["all"] = planned.vectors->info.weights;
  }
}

}  // namespace ropewalk
