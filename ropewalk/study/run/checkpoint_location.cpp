#include "ropewalk/study/run/checkpoint_location.h"

#include "ropewalk/base/error.h"
#include "ropewalk/study/source/hub_uri.h"
#include "ropewalk/study/source/locate.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

bool is_folder(const fs::path& path) {
  std::error_code error;
  const bool folder = fs::is_directory(path, error);
  if (error == std::errc::permission_denied) {
    throw SystemError("{}: cannot be read: {}", path.string(), error.message());
  }
  return folder;
}

}  // namespace

CheckpointLocation locate_checkpoint(const Experiment& experiment, const Phase& phase,
                                     const CheckpointEntry& entry) {
  if (entry.path) {
    const fs::path folder = experiment.resolve(*entry.path);
    if (is_folder(folder)) return {folder, {}};
    throw InputError("{}: '{}': path {} is not a folder; paths are relative to the experiment file",
                     experiment.at(entry.line), entry.label, folder.string());
  }
  const std::optional<std::string>& name = experiment.model_of(phase);
  if (!name) {
    throw InputError(
        "{}: '{}' names a revision, but the file has no model; write model: org/name or a folder",
        experiment.at(entry.line), entry.label);
  }
  const fs::path model = experiment.resolve(*name);
  if (is_folder(model)) {
    if (entry.vectors) return {model, {}};
    const fs::path folder = experiment.folder_in(model, entry);
    if (is_folder(folder)) return {folder, {}};
    throw InputError("{}: '{}': the model has no folder {}", experiment.at(entry.line), entry.label,
                     folder.string());
  }
  if (!is_hub_id(*name)) {
    throw InputError("{}: model '{}' is neither a folder nor a Hub model (org/name)",
                     experiment.at(experiment.model_line_of(phase)), *name);
  }
  try {
    const HubCheckpoint found =
        find_checkpoint(shared_hub(), *name, entry.revision.value_or("main"), entry.subfolder);
    return {found.folder, found};
  } catch (const InputError& error) {
    throw InputError("{}: '{}': model '{}' is not a folder, and {}", experiment.at(entry.line),
                     entry.label, *name, error.what());
  }
}

CheckpointLocation locate_config(const Experiment& experiment, const Phase& phase, size_t index) {
  const auto usable = [&](size_t i) { return !phase.checkpoints[i].random; };
  for (size_t i = index + 1; i < phase.checkpoints.size(); ++i) {
    if (usable(i)) return locate_checkpoint(experiment, phase, phase.checkpoints[i]);
  }
  for (size_t i = index; i-- > 0;) {
    if (usable(i)) return locate_checkpoint(experiment, phase, phase.checkpoints[i]);
  }
  if (experiment.model && is_folder(experiment.resolve(*experiment.model))) {
    return {experiment.resolve(*experiment.model), {}};
  }
  const CheckpointEntry& entry = phase.checkpoints[index];
  throw InputError(
      "{}: '{}' has random weights, and its phase no other checkpoint whose config it could take; "
      "move it into one that has",
      experiment.at(entry.line), entry.label);
}

}  // namespace ropewalk
