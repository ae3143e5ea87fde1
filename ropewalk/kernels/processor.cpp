#include "ropewalk/kernels/processor.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace ropewalk::cpu {

#if defined(__x86_64__)
bool has_bfloat16_tiles() {
  constexpr unsigned kAmxBf16 = 1U << 22;  // leaf 7.0, edx
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & kAmxBf16) != 0;
}

bool has_bfloat16_vectors() {
  constexpr unsigned kAvx512Bf16 = 1U << 5;  // leaf 7.1, eax
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & kAvx512Bf16) != 0;
}
#else
bool has_bfloat16_tiles() { return false; }
bool has_bfloat16_vectors() { return false; }
#endif

}  // namespace ropewalk::cpu
