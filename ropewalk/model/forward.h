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
  int64_t memory = 0;    // bytes for weights, hidden states and what is reserved
  int64_t reserved = 0;  // bytes of the budget that the observers take
  int64_t group = 0;     // documents at most; 0: as the machine likes it
  // tokens done in a stage; of an edit's pass too, where it is not that without edits
  std::function<void(int64_t stage, int64_t tokens)> progress;
  std::function<void(int64_t documents)> after_group;  // documents done
  // Checked ones (edit.h). Each has a pass of its own from its first edited layer on; what comes
  // before is computed once for all. Observers see logits of these passes, all else of that without
  // edits. What comes of one edit does not depend on the others.
  std::span<const Edit> edits;
};

// Runs documents through the extent of `weights`, group by group, layer by layer, and shows the
// observers what they want. A document's arithmetic does not depend on the others. Throws
// UsageError when the budget is too small, and where an observer wants what can never come, before
// anything is computed.
void run_forward(const ModelConfig& config, const WeightReader& weights,
                 std::span<const Document> documents, std::span<Observer* const> observers,
                 const ForwardOptions& options);

}  // namespace ropewalk
