#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "ropewalk/kernels/positions.h"
#include "ropewalk/kernels/torch.h"

namespace ropewalk {

struct Document;
struct RopeTable;
struct ScoreOptions;

// The points at which a layer's vectors can be taken.
inline constexpr const char* kPreNorm = "pre-norm";  // as projected
inline constexpr const char* kPreRope = "pre-rope";  // after q/k norm
// As in the dot product: after q/k norm, RoPE and query scaling.
inline constexpr const char* kPostRope = "post-rope";
inline constexpr std::array kTapPoints{kPreNorm, kPreRope, kPostRope};
inline constexpr std::array kTapVectors{"q", "k", "v"};

// A GPU reads tapped vectors later than they are offered. Up to this many tokens of a document,
// vectors before RoPE are kept for that next to those after it, and nothing waits; longer documents
// would take too much memory.
inline constexpr int64_t kMostKeptTokens = 32768;

// The name and point of the vectors that a tap takes.
struct Tap {
  std::string point;
  std::string vectors;

  auto operator<=>(const Tap&) const = default;
  std::string name() const { return point + " " + vectors; }
};

// Whether some of the taps are at this point.
inline bool has_tap_at(const auto& taps, std::string_view point) {
  return std::any_of(taps.begin(), taps.end(), [&](const Tap& tap) { return tap.point == point; });
}

// One document's vectors at one point of one layer, in the dtype of the pass. A caller's vectors
// (TensorCapture) may be several documents of a block, one after the other.
struct TappedVectors {
  int64_t layer = 0;
  const Document* document = nullptr;  // the first document
  const Positions* positions = nullptr;
  std::string_view point = kPostRope;
  std::map<std::string, at::Tensor, std::less<>> vectors;  // by name; [heads, T, d_head]
  bool changing = false;                                   // they change after on_vectors() returns
  int64_t documents = 1;
  // After RoPE, where a pass makes scores of them: how, for all query heads, and what turned them
  // (null: nothing did). Null where only vectors are known.
  const ScoreOptions* scores = nullptr;
  const RopeTable* rope = nullptr;

  const at::Tensor& operator[](std::string_view name) const { return vectors.find(name)->second; }
};

}  // namespace ropewalk
