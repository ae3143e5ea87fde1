#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ropewalk {

struct CheckpointTable;
struct CheckpointEntry;

// The progress of training at a checkpoint, where it is known.
struct TrainingTime {
  std::optional<int64_t> step;
  std::optional<int64_t> tokens;

  bool operator==(const TrainingTime&) const = default;
};

// The step and tokens that a revision, a label or a folder's name states in words
// (docs/experiments.md): "step-40000", "stage1-step102000-tokens428B", "checkpoint-400000",
// "hf_ckpt/16.78B". A number without such a word is ignored: ckpt_010 is the tenth that was saved,
// and S1-40K can be any name.
TrainingTime read_training_time(std::string_view name);

// The training time of a checkpoint of an experiment: as stated in the file, else from its
// revision, its folder or its label, whichever states it first. Fresh weights have none.
TrainingTime training_time(const CheckpointEntry& entry);

// Fills in a checkpoint's step or tokens from its label where they are unknown. Fresh weights and
// independent models have none.
void fill_training_time(CheckpointTable& checkpoint);

}  // namespace ropewalk
