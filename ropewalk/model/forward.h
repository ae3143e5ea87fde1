#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "ropewalk/kernels/torch.h"
#include "ropewalk/model/config.h"
#include "ropewalk/model/memory_plan.h"
#include "ropewalk/model/observer.h"
#include "ropewalk/model/weights.h"
#include "ropewalk/text/documents.h"

namespace ropewalk {

struct ForwardOptions {
  int64_t memory = 0;    // bytes for weights, hidden states and what is reserved
  int64_t reserved = 0;  // bytes of the budget that the observers take
  int64_t round = 0;     // a group ends where a document's index reaches a multiple of this
  std::function<void(int64_t stage, int64_t tokens)> progress;  // tokens done in a stage
  std::function<bool(int64_t documents)> go_on;  // asked after each group; false stops
};

// Runs documents through the extent of `weights`, group by group, layer by layer, and shows the
// observers what they want. A document's arithmetic does not depend on the others. Throws
// UsageError when the budget is too small, and where an observer wants what can never come, before
// anything is computed.
// Returns how many documents were read.
int64_t run_forward(const ModelConfig& config, const WeightReader& weights,
                    std::span<const Document> documents, std::span<Observer* const> observers,
                    const ForwardOptions& options);

}  // namespace ropewalk
