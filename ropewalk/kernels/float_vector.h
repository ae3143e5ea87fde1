#pragma once

// A vector of as many float32 numbers as a register of the processor holds that a source is
// compiled for. It is for bodies that are compiled once for each kind of processor. They call no
// function of any library: a linker keeps one copy of an inline function, and it might keep one
// that other processors cannot run.

#include <cstdint>

#include "ropewalk/kernels/clones.h"

namespace ropewalk::cpu {
namespace {

#ifdef __AVX512F__
constexpr int64_t kLanes = 16;
#else
constexpr int64_t kLanes = 8;
#endif

using Vector = float __attribute__((vector_size(kLanes * sizeof(float))));

ROPEWALK_INLINE Vector load(const float* x) {
  Vector value;
  __builtin_memcpy(&value, x, sizeof(value));
  return value;
}
ROPEWALK_INLINE void store(Vector value, float* x) { __builtin_memcpy(x, &value, sizeof(value)); }

}  // namespace
}  // namespace ropewalk::cpu
