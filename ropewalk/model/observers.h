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

// Those who watch one pass: what they want, and what they got of it.
class Observers {
 public:
  // Throws UsageError where one of them wants what this pass never shows: a tap that the model does
  // not have there, what leaves a layer that is left early, logits without a head, or later layers
  // alone.
  Observers(std::span<Observer* const> observers, const ModelConfig& config, const Extent& extent);

  bool want(int64_t layer, std::string_view point) const;
  bool want_hidden(int64_t layer) const;
  bool want_outputs() const;
  bool want_logits() const;
  // Hand on to those who want it.
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
