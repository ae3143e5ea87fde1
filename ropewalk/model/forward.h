#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "ropewalk/kernels/torch.h"
#include "ropewalk/model/config.h"
#include "ropewalk/model/memory_plan.h"
#include "ropewalk/model/weights.h"
#include "ropewalk/text/documents.h"

namespace ropewalk {

// Where queries and keys are taken.
enum class CapturePoint {
  post_rope,  // what the dot product sees: after q/k norm, RoPE and query scaling
  pre_rope,   // after q/k norm only
};

// One document's queries and keys in one layer, in the dtype of the pass.
struct QueryKey {
  int64_t layer = 0;
  const Document* document = nullptr;
  at::Tensor q;           // [n_q_heads, T, d_head]
  at::Tensor k;           // [n_kv_heads, T, d_head]
  bool changing = false;  // once collect() returns
};

// Receives queries and keys. Says up front which layers it wants; each of those comes once for
// every document, layer by layer within a group of documents.
class Collector {
 public:
  virtual ~Collector() = default;
  virtual bool wants(int64_t layer) const = 0;
  virtual void collect(const QueryKey& taken) = 0;
};

struct ForwardOptions {
  CapturePoint point = CapturePoint::post_rope;
  int64_t memory = 0;    // bytes for weights, hidden states and what is reserved
  int64_t reserved = 0;  // bytes of the budget that the collector takes
  int64_t round = 0;     // a group ends where a document's index reaches a multiple of this
  std::function<void(int64_t layer, int64_t tokens)> progress;  // tokens done in a layer
  std::function<bool(int64_t documents)> go_on;  // asked after each group; false stops
};

// Runs documents through layers 0 … last_layer, group by group, layer by layer, and hands queries
// and keys to the collector; of the last layer nothing else is computed. A document's arithmetic
// does not depend on the others. Throws UsageError when the budget is too small. Returns how many
// documents were read.
int64_t run_forward(const ModelConfig& config, const WeightReader& weights, int64_t last_layer,
                    std::span<const Document> documents, Collector& collector,
                    const ForwardOptions& options);

}  // namespace ropewalk
