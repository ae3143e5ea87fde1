#pragma once

#include <bit>
#include <cstdint>

#include "ropewalk/kernels/clones.h"

// Converts numbers of either type from and to float32, in a form that compilers vectorise.
namespace ropewalk::cpu {

using Bfloat16 = uint16_t;

ROPEWALK_INLINE float load(const float& x) { return x; }
ROPEWALK_INLINE float load(const Bfloat16& x) {
  return std::bit_cast<float>(static_cast<uint32_t>(x) << 16);
}
ROPEWALK_INLINE void store(float value, float& x) { x = value; }
// Rounds to nearest, ties to even; NaN stays NaN.
ROPEWALK_INLINE void store(float value, Bfloat16& x) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
  x = static_cast<Bfloat16>((bits & 0x7FFFFFFF) > 0x7F800000 ? 0x7FC0 : rounded);
}

}  // namespace ropewalk::cpu
