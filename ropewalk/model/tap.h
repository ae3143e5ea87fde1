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

// Where a layer's vectors can be taken.
inline constexpr const char* kPreNorm = "pre-norm";    // as projected
inline constexpr const char* kPreRope = "pre-rope";    // after q/k norm
inline constexpr const char* kPostRope = "post-rope";  // what the dot product sees: after q/k norm,
                                                       // RoPE and query scaling
inline constexpr std::array kTapPoints{kPreNorm, kPreRope, kPostRope};
inline constexpr std::array kTapVectors{"q", "k", "v"};

// A GPU reads what was taken later than it is offered. Up to so many tokens of a document vectors
// before RoPE stay for that beside those after it, and nothing waits; of more they would take too
// much room.
inline constexpr int64_t kMostKeptTokens = 32768;

// Which vectors are taken, and where.
struct Tap {
  std::string point;
  std::string vectors;

  auto operator<=>(const Tap&) const = default;
  std::string name() const { return point + " " + vectors; }
};

// Whether some of them are at this point.
inline bool has_tap_at(const auto& taps, std::string_view point) {
  return std::any_of(taps.begin(), taps.end(), [&](const Tap& tap) { return tap.point == point; });
}

// One document's vectors at one point of one layer, in the dtype of the pass. What a caller adds
// (TensorCapture) may be several documents of a block, one behind the other.
struct TappedVectors {
  int64_t layer = 0;
  const Document* document = nullptr;  // the first one
  const Positions* positions = nullptr;
  std::string_view point = kPostRope;
  std::map<std::string, at::Tensor, std::less<>> vectors;  // by name; [heads, T, d_head]
  bool changing = false;                                   // once on_vectors() returns
  int64_t documents = 1;

  const at::Tensor& operator[](std::string_view name) const { return vectors.find(name)->second; }
};

}  // namespace ropewalk
