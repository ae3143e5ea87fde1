#pragma once

#include <map>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "ropewalk/model/extent.h"
#include "ropewalk/model/observer.h"

namespace ropewalk {

// Those who watch one pass: what they want, and what they got of it.
class Observers {
 public:
  Observers(std::span<Observer* const> observers, const Extent& extent);

  bool want(int64_t layer, std::string_view point) const;
  bool want_hidden(int64_t layer) const;
  bool want_outputs() const;
  bool want_logits() const;
  // Hand on to those who want it.
  void offer(Taken taken);
  void offer(const Hidden& hidden);
  void offer(const Outputs& outputs);
  void offer(const Logits& logits);
  void offer(const EditedLogits& logits);
  int64_t workspace(int64_t tokens, at::ScalarType dtype, const at::Device& device) const;

  // Once documents have passed all layers: throws UsageError where somebody got nothing of what he
  // wanted.
  void require_all() const;

 private:
  struct Wants {
    std::set<Tap> taps;
    std::set<Tap> waiting;  // of these, those that got nothing yet
    bool hidden = false;
    bool no_hidden_yet = false;
  };
  struct Watching {
    Observer* observer;
    std::map<int64_t, Wants> layers;
  };
  std::vector<Watching> all_;
  bool has_head_;
};

}  // namespace ropewalk
