#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ropewalk/model/config.h"
#include "ropewalk/text/documents.h"

namespace ropewalk {

class WeightReader;

// How a budget is spent. The budget covers weights, moments and the hidden states of the
// documents in flight; the workspace of one layer and the program itself come on top and are stated
// by `inspect`.
struct MemoryPlan {
  bool keep_weights = false;  // all layers stay; else each is read once a group
  int64_t layers_ahead = 0;   // layers read while another computes: 1, or 0 where two do not fit
  int64_t weights = 0;        // bytes held at once
  int64_t hidden_budget = 0;  // bytes for hidden states of a group
};

struct MemoryNeeds {
  std::vector<int64_t> layer_bytes;  // of layers 0 … last
  int64_t longest_hidden = 0;        // bytes of the longest document's hidden state
  int64_t reserved = 0;              // bytes of moments
};

// Throws UsageError naming the least budget that works.
MemoryPlan plan_memory(const MemoryNeeds& needs, int64_t budget);

MemoryNeeds memory_needs(const WeightReader& weights, int64_t last_layer, int64_t hidden_bytes);

// Runs of consecutive documents whose hidden states fit the plan, at least one document each. Where
// `most` is not 0 a run also ends after each `most` documents, whatever the plan.
std::vector<std::span<const Document>> group_documents(std::span<const Document> documents,
                                                       int64_t bytes_per_token,
                                                       const MemoryPlan& plan, int64_t most = 0);

}  // namespace ropewalk
