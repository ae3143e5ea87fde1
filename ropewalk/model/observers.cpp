#include "ropewalk/model/observers.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

bool is_among(const auto& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The reason why a tap can never fire; empty where it can.
std::string never(const Tap& tap, const LayerConfig& layer, Needed needed) {
  if (!is_among(kTapPoints, tap.point)) {
    return fmt::format("points are {}", fmt::join(kTapPoints, ", "));
  }
  if (!is_among(kTapVectors, tap.vectors)) {
    return fmt::format("vectors are {}", fmt::join(kTapVectors, ", "));
  }
  if (!layer.self_attention) return "the layer has no self-attention";
  const bool computed = tap.vectors != "v" || needed != Needed::qk;
  return computed ? "" : "only its queries and keys are computed";
}

}  // namespace

Observers::Observers(std::span<Observer* const> observers, const ModelConfig& config,
                     const Extent& extent) {
  for (Observer* observer : observers) {
    ObserverRequests& watching = all_.emplace_back(ObserverRequests{observer, {}});
    bool any = observer->wants_logits();
    if (any && !extent.has_head()) {
      throw UsageError("there are no logits: the pass has no head");
    }
    for (int64_t layer = 0; layer <= extent.last_layer; ++layer) {
      const Needed needed = extent.of(layer);
      LayerRequests& wants = watching.layers[layer];
      for (const Tap& tap : observer->taps(layer)) {
        const std::string why = never(tap, config.layers[static_cast<size_t>(layer)], needed);
        if (!why.empty()) {
          throw UsageError("the tap '{}' of layer {} can never fire: {}", tap.name(), layer, why);
        }
        wants.taps.insert(tap);
      }
      wants.hidden = observer->wants_hidden(layer);
      if (wants.hidden && needed == Needed::qk) {
        throw UsageError("layer {} has no output: only its queries and keys are computed", layer);
      }
      any = any || wants.hidden || !wants.taps.empty();
    }
    // An observer of every layer need not know where the pass ends, but one that only wants later
    // layers would wait in vain.
    for (int64_t layer = extent.last_layer + 1; !any && layer < config.n_layers; ++layer) {
      if (observer->taps(layer).empty() && !observer->wants_hidden(layer)) continue;
      throw UsageError("an observer wants layer {} only, but the pass ends with layer {}", layer,
                       extent.last_layer);
    }
  }
}

bool Observers::want(int64_t layer, std::string_view point) const {
  return std::any_of(all_.begin(), all_.end(), [&](const ObserverRequests& watching) {
    return has_tap_at(watching.layers.at(layer).taps, point);
  });
}

bool Observers::want_hidden(int64_t layer) const {
  return std::any_of(all_.begin(), all_.end(), [&](const ObserverRequests& watching) {
    return watching.layers.at(layer).hidden;
  });
}

bool Observers::want_outputs() const {
  return std::any_of(all_.begin(), all_.end(), [](const ObserverRequests& watching) {
    return watching.observer->wants_outputs();
  });
}

bool Observers::want_logits() const {
  return std::any_of(all_.begin(), all_.end(), [](const ObserverRequests& watching) {
    return watching.observer->wants_logits();
  });
}

void Observers::offer(TappedVectors taken) {
  std::erase_if(taken.vectors, [](const auto& named) { return !named.second.defined(); });
  for (ObserverRequests& watching : all_) {
    if (has_tap_at(watching.layers.at(taken.layer).taps, taken.point)) {
      watching.observer->on_vectors(taken);
    }
  }
}

void Observers::offer(const HiddenStates& hidden) {
  for (ObserverRequests& watching : all_) {
    if (watching.layers.at(hidden.layer).hidden) watching.observer->on_hidden(hidden);
  }
}

void Observers::offer(const TappedOutputs& outputs) {
  for (ObserverRequests& watching : all_) {
    if (watching.observer->wants_outputs()) watching.observer->on_outputs(outputs);
  }
}

void Observers::offer(const EditedLogits& logits) {
  for (ObserverRequests& watching : all_) {
    if (watching.observer->wants_logits()) watching.observer->on_edited_logits(logits);
  }
}

void Observers::offer(const Logits& logits) {
  for (ObserverRequests& watching : all_) {
    if (watching.observer->wants_logits()) watching.observer->on_logits(logits);
  }
}

int64_t Observers::workspace(int64_t tokens, at::ScalarType dtype, const at::Device& device) const {
  int64_t bytes = 0;
  for (const ObserverRequests& watching : all_) {
    bytes += watching.observer->workspace(tokens, dtype, device);
  }
  return bytes;
}

}  // namespace ropewalk
