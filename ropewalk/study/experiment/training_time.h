#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ropewalk {

struct CheckpointTable;
struct CheckpointEntry;

// How far training had come at a checkpoint, where it is known.
struct TrainingTime {
  std::optional<int64_t> step;
  std::optional<int64_t> tokens;

  bool operator==(const TrainingTime&) const = default;
};

// What a revision, a label or a folder's name says in words (docs/experiments.md): "step-40000",
// "stage1-step102000-tokens428B", "checkpoint-400000", "hf_ckpt/16.78B". A number without such a
// word says nothing: ckpt_010 is the tenth that was kept, and S1-40K a name somebody chose.
TrainingTime read_training_time(std::string_view name);

// Of a checkpoint of an experiment: each number as given, else by its revision, its folder or its
// label, the first that says it. Fresh weights have none.
TrainingTime training_time(const CheckpointEntry& entry);

// Gives a checkpoint of a table what its label says, where its step or tokens are not known. Fresh
// weights and models side by side have none.
void fill_training_time(CheckpointTable& checkpoint);

}  // namespace ropewalk
