#include "ropewalk/kernels/attention/attention_cpu.h"

#include "ropewalk/kernels/usable_kernels.h"

namespace ropewalk::cpu {

#ifdef __x86_64__
extern const AttentionKernel kAttentionAvx512;
extern const AttentionKernel kAttentionAvx2;

std::span<const AttentionKernel* const> attention_kernels() {
  static const auto usable = usable_kernels(kAttentionAvx512, kAttentionAvx2);
  return usable;
}
#else
std::span<const AttentionKernel* const> attention_kernels() { return {}; }
#endif

}  // namespace ropewalk::cpu
