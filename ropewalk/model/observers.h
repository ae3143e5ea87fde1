#pragma once

#include <map>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "ropewalk/model/config/config.h"
#include "ropewalk/model/extent.h"
#include "ropewalk/model/observer.h"

namespace ropewalk {

// The observers of one pass, and what they want.
class Observers {
 public:
  // Throws UsageError where an observer wants what this pass never computes: a tap that the model
  // does not have, the output of a layer that ends early, logits without a head, or only later
  // layers.
  Observers(std::span<Observer* const> observers, const ModelConfig& config, const Extent& extent);

  bool want(int64_t layer, std::string_view point) const;
  bool want_hidden(int64_t layer) const;
  bool want_outputs() const;
  bool want_logits() const;
  // Passes these on to the observers that want them.
  void offer(TappedVectors taken);
  void offer(const HiddenStates& hidden);
  void offer(const TappedOutputs& outputs);
  void offer(const Logits& logits);
  void offer(const EditedLogits& logits);
  int64_t workspace(int64_t tokens, at::ScalarType dtype, const at::Device& device) const;

 private:
  struct LayerRequests {
    std::set<Tap> taps;
    bool hidden = false;
  };
  struct ObserverRequests {
    Observer* observer;
    std::map<int64_t, LayerRequests> layers;
  };
  std::vector<ObserverRequests> all_;
};

}  // namespace ropewalk
