#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "ropewalk/kernels/torch.h"
#include "ropewalk/model/config.h"
#include "ropewalk/model/memory_plan.h"
#include "ropewalk/model/tap.h"
#include "ropewalk/model/weights.h"
#include "ropewalk/text/documents.h"

namespace ropewalk {

// Receives vectors. Says up front which it wants of which layer; a tap of a layer comes once for
// every document, layer by layer within a group of documents, in the order of the points.
class Collector {
 public:
  virtual ~Collector() = default;
  virtual std::vector<Tap> taps(int64_t layer) const = 0;
  // All vectors of a point at which it has a tap.
  virtual void collect(const Taken& taken) = 0;
  // Bytes of the device that it may hold while it collects a document of so many tokens, beyond
  // what it keeps.
  virtual int64_t workspace(int64_t tokens, at::ScalarType dtype, const at::Device& device) const {
    (void)tokens, (void)dtype, (void)device;
    return 0;
  }
};

struct ForwardOptions {
  int64_t memory = 0;    // bytes for weights, hidden states and what is reserved
  int64_t reserved = 0;  // bytes of the budget that the collector takes
  int64_t round = 0;     // a group ends where a document's index reaches a multiple of this
  std::function<void(int64_t layer, int64_t tokens)> progress;  // tokens done in a layer
  std::function<bool(int64_t documents)> go_on;  // asked after each group; false stops
};

// Runs documents through layers 0 … last_layer, group by group, layer by layer, and hands vectors
// to the collector; of the last layer nothing but queries and keys is computed. A document's
// arithmetic does not depend on the others. Throws UsageError when the budget is too small, and
// where a tap got nothing. Returns how many documents were read.
int64_t run_forward(const ModelConfig& config, const WeightReader& weights, int64_t last_layer,
                    std::span<const Document> documents, Collector& collector,
                    const ForwardOptions& options);

}  // namespace ropewalk
