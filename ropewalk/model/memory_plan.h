#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ropewalk/model/config/config.h"
#include "ropewalk/text/documents.h"

namespace ropewalk {

class WeightReader;
struct Edit;

// How a budget is divided. The budget covers weights, moments and the hidden states of the
// documents in flight; on a GPU, where memory cannot be swapped, also the workspace of one layer.
// On a CPU that workspace and the program itself come on top, and `inspect` states them.
struct MemoryPlan {
  bool keep_weights = false;  // all layers stay in memory; otherwise each is read once per group
  int64_t layers_ahead = 0;   // layers read while another computes: 1, or 0 where two do not fit
  int64_t weights = 0;        // bytes held at once
  int64_t hidden_budget = 0;  // bytes for hidden states of a group
  // Experts are loaded with their layer; otherwise one at a time, on demand.
  bool keep_experts = true;
};

struct MemoryNeeds {
  std::vector<int64_t> layer_bytes;  // per stage: layers 0 … last, then the head
  int64_t longest_hidden = 0;        // bytes of the longest document's hidden state
  int64_t reserved = 0;              // bytes of moments
  int64_t workspace = 0;             // bytes of one layer's workspace, where the budget covers it
  int64_t thin_layer = 0;  // bytes of the largest layer with one of its experts; 0: no mixture
};

// The bytes that a document in flight holds for each of its tokens.
int64_t bytes_per_token(const ModelConfig& config, int64_t element_size);

// Throws UsageError naming the least budget that works.
MemoryPlan plan_memory(const MemoryNeeds& needs, int64_t budget);

// For documents of up to `tokens` tokens, and for observers that need `collector_bytes` bytes
// besides what they keep (layer_workspace); the caller sets `reserved`. Each edit has hidden states
// of its own.
MemoryNeeds memory_needs(const ModelConfig& config, const WeightReader& weights, int64_t tokens,
                         int64_t collector_bytes, std::span<const Edit> edits = {});

struct GroupLimits {
  int64_t hidden_budget = 0;  // bytes for hidden states of a group
  int64_t most = 0;           // most documents; 0: as many as fit
};

// Splits documents into runs within the limits, at least one document each.
std::vector<std::span<const Document>> group_documents(std::span<const Document> documents,
                                                       int64_t bytes_per_token,
                                                       const GroupLimits& limits);

}  // namespace ropewalk
