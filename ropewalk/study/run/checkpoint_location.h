#pragma once

#include <filesystem>
#include <optional>

#include "ropewalk/checkpoint/hub_checkpoint.h"
#include "ropewalk/study/experiment/experiment.h"

namespace ropewalk {

// Where a checkpoint that has weights of its own is, or the config of captured vectors. On the Hub,
// only its config is fetched.
struct CheckpointLocation {
  std::filesystem::path folder;
  std::optional<HubCheckpoint> hub;
};

// Throws InputError with the line of the experiment file where the checkpoint is not found.
CheckpointLocation locate_checkpoint(const Experiment& experiment, const Phase& phase,
                                     const CheckpointEntry& entry);

// The checkpoint whose config the random checkpoint at `index` takes: the nearest one of its phase
// that has weights, a later one before an earlier one, else the experiment's model.
CheckpointLocation locate_config(const Experiment& experiment, const Phase& phase, size_t index);

}  // namespace ropewalk
