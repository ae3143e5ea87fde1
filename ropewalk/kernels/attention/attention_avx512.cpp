#include "ropewalk/kernels/attention/attention_rows.h"

namespace ropewalk::cpu {

extern const AttentionKernel kAttentionAvx512;
const AttentionKernel kAttentionAvx512{"avx512", kPanel, kBlockRows, pack, attend, scratch_size};

}  // namespace ropewalk::cpu
