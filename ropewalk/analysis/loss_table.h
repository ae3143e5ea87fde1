#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ropewalk/moments/capture_moments.h"

namespace ropewalk {

// The loss of tokens whose positions lie in [begin, end), per token, with its standard error over
// documents, or over the texts that they are pieces of.
struct LossRow {
  int64_t begin = 0;
  int64_t end = 0;        // 0: all positions together
  double loss = 0;        // nats per token
  double se = 0;          // NaN: one document has no spread
  int64_t documents = 0;  // that have such tokens
  int64_t groups = 0;     // that are independent of each other: documents, or their texts
  int64_t tokens = 0;     // that predict another
};

// A checkpoint's, of all positions together first, then of each bin that a document reaches.
struct CheckpointLoss {
  std::string model;
  std::string label;
  std::string phase;
  int64_t order = 0;
  bool random = false;  // fresh weights
  std::vector<LossRow> rows;
};

// Nothing where the capture has no loss.
CheckpointLoss checkpoint_loss(const CaptureMoments& capture);

// The text of loss.csv: one row per checkpoint and bin.
std::string format_loss_table(const std::vector<CheckpointLoss>& checkpoints);
// The text of loss_documents.csv: one row per document of a capture.
std::string format_loss_documents(const CaptureMoments& capture);

}  // namespace ropewalk
