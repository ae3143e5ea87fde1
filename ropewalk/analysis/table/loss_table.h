#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ropewalk/analysis/table/loss_row.h"
#include "ropewalk/analysis/table/run_table.h"

namespace ropewalk {

struct CaptureMoments;

// The losses of a checkpoint: over all positions first, then in each bin that a document reaches.
struct CheckpointLoss {
  std::string model;
  std::string label;
  std::string phase;
  int64_t order = 0;
  bool random = false;  // fresh weights
  std::vector<LossRow> rows;
  std::vector<LossPart> parts;  // the parts of the first row
};

// Empty where the capture has no loss.
CheckpointLoss checkpoint_loss(const CaptureMoments& capture);

// The losses of a table's checkpoints; empty where none was measured.
std::vector<CheckpointLoss> losses_of(const std::vector<CheckpointTable>& checkpoints);

// The text of loss.csv: one row per checkpoint and bin.
std::string format_loss_table(const std::vector<CheckpointLoss>& checkpoints);
// The text of loss_documents.csv: one row per document of a capture.
std::string format_loss_documents(const CaptureMoments& capture);

}  // namespace ropewalk
