#include "ropewalk/kernels/attention_cpu.h"

#include <vector>

namespace ropewalk::cpu {

#ifdef __x86_64__
extern const AttentionKernel kAttentionAvx512;
extern const AttentionKernel kAttentionAvx2;

std::span<const AttentionKernel* const> attention_kernels() {
  static const std::vector<const AttentionKernel*> usable = [] {
    std::vector<const AttentionKernel*> found;
    if (__builtin_cpu_supports("avx512f")) found.push_back(&kAttentionAvx512);
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
      found.push_back(&kAttentionAvx2);
    }
    return found;
  }();
  return usable;
}
#else
std::span<const AttentionKernel* const> attention_kernels() { return {}; }
#endif

}  // namespace ropewalk::cpu
