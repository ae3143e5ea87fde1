#include "ropewalk/model/edit.h"

#include <algorithm>

#include "ropewalk/base/error.h"
#include "ropewalk/model/config/config.h"
#include "ropewalk/model/config/slow_pairs.h"

namespace ropewalk {
namespace {

template <typename... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};

// An edit of any kind, for one query head.
struct HeadEdit {
  const ModelConfig& config;
  const Edit& edit;
  LayerHead head;
  int64_t tokens;

  LayerHead kv_head() const {
    return {head.layer, head.head / (config.n_q_heads / config.n_kv_heads)};
  }
  [[noreturn]] void refuse(const std::string& what) const {
    throw UsageError("the edit '{}' of head {}.{}: {}", edit.name, head.layer, head.head, what);
  }
};

enum class Size { exactly, at_least };

void require_shape(const HeadEdit& in, const at::Tensor& tensor, int64_t size,
                   const std::string& what, Size kind = Size::exactly) {
  const bool fits = tensor.defined() && tensor.dim() == 1 &&
                    (kind == Size::exactly ? tensor.size(0) == size : tensor.size(0) >= size);
  if (!fits) {
    in.refuse(fmt::format("found {}, expected {} of {} numbers",
                          tensor.defined() ? fmt::format("{} of {}", what, tensor.numel())
                                           : fmt::format("no {}", what),
                          what, size));
  }
  if (!tensor.isfinite().all().item<bool>()) in.refuse(fmt::format("{} is not finite", what));
}

void require_turning(const HeadEdit& in) {
  const LayerConfig& layer = in.config.layers[static_cast<size_t>(in.head.layer)];
  if (!layer.rope || in.config.ropes.empty()) {
    in.refuse("its layer has no RoPE; choose heads of layers with RoPE");
  }
}

void check(const HeadEdit& in, const DistanceBias& distance) {
  const auto found = distance.logits.find(in.head);
  require_shape(in, found == distance.logits.end() ? at::Tensor() : found->second, in.tokens,
                "logits by distance", Size::at_least);
}

void check(const HeadEdit& in, const Window& window) {
  if (window.tokens < 1) {
    in.refuse(fmt::format("found a window of {} tokens, expected at least 1", window.tokens));
  }
}

void check(const HeadEdit& in, const StillPairs& still) {
  require_turning(in);
  if (!(still.cut >= 0)) in.refuse(fmt::format("found a cut of {}, expected tokens", still.cut));
}

void check(const HeadEdit& in, const ZeroedPairs& band) { check(in, StillPairs{band.cut}); }

void check(const HeadEdit& in, const FlattenedDrift& flatten) {
  const auto q = flatten.q.find(in.head);
  const auto k = flatten.k.find(in.kv_head());
  if (q == flatten.q.end() && k == flatten.k.end()) {
    in.refuse("found no slope, expected one of its queries or keys");
  }
  if (q != flatten.q.end()) require_shape(in, q->second, in.config.d_head, "a slope of queries");
  if (k != flatten.k.end()) require_shape(in, k->second, in.config.d_head, "a slope of keys");
}

void check(const HeadEdit& in, const RemovedAxis& axis) {
  const auto found = axis.heads.find(in.head);
  if (found == axis.heads.end()) in.refuse("found no axis, expected one");
  require_shape(in, found->second.axis, in.config.d_head, "an axis");
  require_shape(in, found->second.mean_q, in.config.d_head, "a mean of queries");
  require_shape(in, found->second.mean_k, in.config.d_head, "a mean of keys");
}

bool changes(const HeadEdit& in, const DistanceBias& distance) {
  // Checks S at the distances between a query and the keys that may change for it.
  const std::optional<int64_t> own = in.config.layers[static_cast<size_t>(in.head.layer)].window;
  const int64_t distances = std::min(in.tokens - kFirstEdited, own.value_or(in.tokens));
  const at::Tensor logits = distance.logits.at(in.head).slice(0, 0, distances);
  return !logits.eq(logits[0]).all().item<bool>();
}

bool changes(const HeadEdit& in, const Window& window) {
  const std::optional<int64_t> own = in.config.layers[static_cast<size_t>(in.head.layer)].window;
  const int64_t farthest = in.tokens - 1 - kFirstEdited;
  return window.tokens < std::min(farthest, own.value_or(in.tokens) - 1);
}

bool changes(const HeadEdit& in, const StillPairs& still) {
  return slow_pairs(in.config, in.head.layer, still.cut, in.tokens).any();
}

bool changes(const HeadEdit& in, const ZeroedPairs& band) {
  return changes(in, StillPairs{band.cut});
}

bool changes(const HeadEdit& in, const FlattenedDrift& flatten) {
  const auto moves = [](const auto& slopes, const LayerHead& head) {
    const auto found = slopes.find(head);
    return found != slopes.end() && found->second.ne(0).any().template item<bool>();
  };
  return moves(flatten.q, in.head) || moves(flatten.k, in.kv_head());
}

bool changes(const HeadEdit& in, const RemovedAxis& axis) {
  return axis.heads.at(in.head).axis.ne(0).any().item<bool>();
}

void check_head(const HeadEdit& in) {
  const auto [layer, head] = in.head;
  if (layer < 0 || layer >= in.config.n_layers || head < 0 || head >= in.config.n_q_heads) {
    in.refuse(fmt::format("this head does not exist; the model has {} layers with {} heads",
                          in.config.n_layers, in.config.n_q_heads));
  }
  if (!in.config.layers[static_cast<size_t>(layer)].self_attention) {
    in.refuse("its layer has no self-attention; choose heads of other layers");
  }
  std::visit(Overloaded{[](const FixedOutput&) {},
                        [&](const auto& kind) {
                          std::visit([&](const auto& one) { check(in, one); }, kind);
                        }},
             in.edit.what);
}

bool changes_head(const HeadEdit& in) {
  return std::visit(Overloaded{[](const FixedOutput&) { return true; },
                               [&](const auto& kind) {
                                 return std::visit(
                                     [&](const auto& one) { return changes(in, one); }, kind);
                               }},
                    in.edit.what);
}

}  // namespace

void check_edit(const ModelConfig& config, const Edit& edit, int64_t tokens) {
  const bool empty = std::all_of(edit.heads.begin(), edit.heads.end(),
                                 [](const auto& layer) { return layer.second.empty(); });
  if (empty) throw UsageError("the edit '{}' has no heads; expected at least one", edit.name);
  for (const auto& [layer, heads] : edit.heads) {
    for (const int64_t head : heads) check_head({config, edit, {layer, head}, tokens});
    if (std::adjacent_find(heads.begin(), heads.end(), std::greater_equal<>()) != heads.end()) {
      throw UsageError("the edit '{}': heads of layer {} are not ascending", edit.name, layer);
    }
  }
}

std::vector<int64_t> edited_heads(const ModelConfig& config, const Edit& edit, int64_t layer,
                                  int64_t tokens) {
  std::vector<int64_t> edited;
  const auto heads = edit.heads.find(layer);
  if (heads == edit.heads.end() || tokens <= kFirstEdited) return edited;
  for (const int64_t head : heads->second) {
    if (changes_head({config, edit, {layer, head}, tokens})) edited.push_back(head);
  }
  return edited;
}

std::optional<int64_t> first_edited_layer(const ModelConfig& config, const Edit& edit,
                                          int64_t tokens) {
  for (const auto& [layer, heads] : edit.heads) {
    if (!edited_heads(config, edit, layer, tokens).empty()) return layer;
  }
  return std::nullopt;
}

}  // namespace ropewalk
