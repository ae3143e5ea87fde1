#include "ropewalk/model/memory_plan.h"

#include <algorithm>
#include <numeric>

#include "ropewalk/base/error.h"
#include "ropewalk/base/units.h"
#include "ropewalk/model/edited_layer.h"
#include "ropewalk/model/head.h"
#include "ropewalk/model/layer.h"
#include "ropewalk/model/mixture.h"
#include "ropewalk/model/weights.h"

namespace ropewalk {

MemoryNeeds memory_needs(const ModelConfig& config, const WeightReader& weights, int64_t tokens,
                         int64_t collector_bytes, std::span<const Edit> edits) {
  MemoryNeeds needs;
  for (int64_t layer = 0; layer <= weights.extent().last_stage(); ++layer) {
    const int64_t whole = weights.layer_bytes(layer);
    const int64_t spared = (weights.experts(layer) - 1) * weights.expert_bytes(layer);
    needs.layer_bytes.push_back(whole);
    if (config.mixture) needs.thin_layer = std::max(needs.thin_layer, whole - spared);
  }
  const int64_t hidden = tokens * bytes_per_token(config, weights.element_size());
  needs.longest_hidden = (1 + static_cast<int64_t>(edits.size())) * hidden;
  if (weights.device().is_cuda()) {
    needs.workspace =
        layer_workspace(config, tokens, weights.dtype(), weights.device(), collector_bytes);
    if (weights.extent().has_head()) {
      const int64_t at_once = edits.empty() ? 1 : 2;  // the unedited ones and one edit's
      needs.workspace = std::max(
          needs.workspace, at_once * logits_workspace(config, weights.dtype()) + collector_bytes);
    }
    int64_t editing = 0;
    for (const Edit& edit : edits) {
      editing = std::max(editing, edit_workspace(config, edit, tokens, weights.device()));
    }
    // Outputs of heads exist twice while a pass departs from the unedited one.
    if (!edits.empty()) editing += tokens * config.q_width() * weights.element_size();
    needs.workspace += editing;
  }
  return needs;
}

int64_t bytes_per_token(const ModelConfig& config, int64_t element_size) {
  return config.d_model * element_size + mixture_state(config);
}

MemoryPlan plan_memory(const MemoryNeeds& needs, int64_t budget) {
  const int64_t all =
      std::accumulate(needs.layer_bytes.begin(), needs.layer_bytes.end(), int64_t{0});
  const int64_t one = *std::max_element(needs.layer_bytes.begin(), needs.layer_bytes.end());
  const int64_t rest = needs.longest_hidden + needs.reserved + needs.workspace;
  MemoryPlan plan;
  if (all + rest <= budget) {
    plan.keep_weights = true;
    plan.layers_ahead = 1;
    plan.weights = all;
  } else if (2 * one + rest <= budget) {
    plan.layers_ahead = 1;
    plan.weights = 2 * one;
  } else if (one + rest <= budget) {
    plan.weights = one;
  } else if (needs.thin_layer > 0 && needs.thin_layer + rest <= budget) {
    plan.keep_experts = false;
    plan.weights = needs.thin_layer;
  } else {
    const int64_t least = needs.thin_layer > 0 ? needs.thin_layer : one;
    throw UsageError(
        Field{"memory"},
        ": a budget of {} is too small: one layer's weights{} ({}), its moments ({}){} and one "
        "document ({}) need {}",
        format_bytes(budget), needs.thin_layer > 0 ? " with one expert" : "", format_bytes(least),
        format_bytes(needs.reserved),
        needs.workspace == 0 ? ""
                             : fmt::format(", its workspace ({})", format_bytes(needs.workspace)),
        format_bytes(needs.longest_hidden), format_bytes(least + rest));
  }
  plan.hidden_budget = budget - plan.weights - needs.reserved - needs.workspace;
  return plan;
}

std::vector<std::span<const Document>> group_documents(std::span<const Document> documents,
                                                       int64_t bytes_per_token,
                                                       const GroupLimits& limits) {
  std::vector<std::span<const Document>> groups;
  size_t begin = 0;
  int64_t used = 0;
  for (size_t i = 0; i < documents.size(); ++i) {
    const int64_t bytes = static_cast<int64_t>(documents[i].tokens.size()) * bytes_per_token;
    const bool full = (limits.most > 0 && static_cast<int64_t>(i - begin) == limits.most) ||
                      used + bytes > limits.hidden_budget;
    if (i > begin && full) {
      groups.push_back(documents.subspan(begin, i - begin));
      begin = i;
      used = 0;
    }
    used += bytes;
  }
  if (begin < documents.size()) groups.push_back(documents.subspan(begin));
  return groups;
}

}  // namespace ropewalk
