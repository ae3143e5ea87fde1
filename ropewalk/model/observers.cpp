#include "ropewalk/model/observers.h"

#include "ropewalk/base/error.h"

namespace ropewalk {

Observers::Observers(std::span<Observer* const> observers, const Extent& extent)
    : has_head_(extent.has_head()) {
  for (Observer* observer : observers) {
    Watching& watching = all_.emplace_back(Watching{observer, {}});
    for (int64_t layer = 0; layer <= extent.last_layer; ++layer) {
      Wants& wants = watching.layers[layer];
      for (const Tap& tap : observer->taps(layer)) wants.taps.insert(tap);
      wants.waiting = wants.taps;
      wants.hidden = wants.no_hidden_yet = observer->wants_hidden(layer);
    }
  }
}

bool Observers::want(int64_t layer, std::string_view point) const {
  return std::any_of(all_.begin(), all_.end(), [&](const Watching& watching) {
    return any_at(watching.layers.at(layer).taps, point);
  });
}

bool Observers::want_hidden(int64_t layer) const {
  return std::any_of(all_.begin(), all_.end(),
                     [&](const Watching& watching) { return watching.layers.at(layer).hidden; });
}

bool Observers::want_outputs() const {
  return std::any_of(all_.begin(), all_.end(),
                     [](const Watching& watching) { return watching.observer->wants_outputs(); });
}

bool Observers::want_logits() const {
  return std::any_of(all_.begin(), all_.end(),
                     [](const Watching& watching) { return watching.observer->wants_logits(); });
}

void Observers::offer(Taken taken) {
  std::erase_if(taken.vectors, [](const auto& named) { return !named.second.defined(); });
  for (Watching& watching : all_) {
    Wants& wants = watching.layers.at(taken.layer);
    if (!any_at(wants.taps, taken.point)) continue;
    std::erase_if(wants.waiting, [&](const Tap& tap) {
      return tap.point == taken.point && taken.vectors.contains(tap.vectors);
    });
    watching.observer->on_vectors(taken);
  }
}

void Observers::offer(const Hidden& hidden) {
  for (Watching& watching : all_) {
    Wants& wants = watching.layers.at(hidden.layer);
    if (!wants.hidden) continue;
    wants.no_hidden_yet = false;
    watching.observer->on_hidden(hidden);
  }
}

void Observers::offer(const Outputs& outputs) {
  for (Watching& watching : all_) {
    if (watching.observer->wants_outputs()) watching.observer->on_outputs(outputs);
  }
}

void Observers::offer(const EditedLogits& logits) {
  for (Watching& watching : all_) {
    if (watching.observer->wants_logits()) watching.observer->on_edited_logits(logits);
  }
}

void Observers::offer(const Logits& logits) {
  for (Watching& watching : all_) {
    if (watching.observer->wants_logits()) watching.observer->on_logits(logits);
  }
}

int64_t Observers::workspace(int64_t tokens, at::ScalarType dtype, const at::Device& device) const {
  int64_t bytes = 0;
  for (const Watching& watching : all_) {
    bytes += watching.observer->workspace(tokens, dtype, device);
  }
  return bytes;
}

void Observers::require_all() const {
  if (want_logits() && !has_head_) throw UsageError("there are no logits: the pass has no head");
  for (const Watching& watching : all_) {
    for (const auto& [layer, wants] : watching.layers) {
      if (!wants.waiting.empty()) {
        throw UsageError(
            "the tap '{}' of layer {} got nothing: this model has no such vectors there",
            wants.waiting.begin()->name(), layer);
      }
      if (wants.no_hidden_yet) {
        throw UsageError("nothing leaves layer {}: only its queries and keys are computed", layer);
      }
    }
  }
}

}  // namespace ropewalk
