#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "ropewalk/kernels/torch.h"
#include "ropewalk/model/config/config.h"
#include "ropewalk/model/edit.h"
#include "ropewalk/model/memory_plan.h"
#include "ropewalk/model/observer.h"
#include "ropewalk/model/weights.h"
#include "ropewalk/text/documents.h"

namespace ropewalk {

struct ForwardOptions {
  int64_t memory = 0;    // bytes for weights, hidden states and `reserved`
  int64_t reserved = 0;  // bytes of the budget that the observers take
  int64_t group = 0;     // most documents per group; 0: chosen for the machine
  // The number of tokens done in a stage; it counts an edit's pass too, where that differs from the
  // unedited pass.
  std::function<void(int64_t stage, int64_t tokens)> progress;
  std::function<void(int64_t documents)> after_group;  // number of documents done
  // Checked edits (edit.h). Each has a pass of its own from its first edited layer on; everything
  // before is computed once for all. Observers see the logits of these passes and, for all else,
  // the unedited pass. Results of one edit do not depend on the others.
  std::span<const Edit> edits;
};

// Runs documents through the extent of `weights`, group by group, layer by layer, and calls
// observers with what they want. A document's arithmetic does not depend on the other documents.
// Before anything is computed, throws UsageError where the budget is too small or an observer wants
// something that the pass never computes.
void run_forward(const ModelConfig& config, const WeightReader& weights,
                 std::span<const Document> documents, std::span<Observer* const> observers,
                 const ForwardOptions& options);

}  // namespace ropewalk
