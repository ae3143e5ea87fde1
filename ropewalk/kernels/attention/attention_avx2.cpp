#include "ropewalk/kernels/attention/attention_rows.h"

namespace ropewalk::cpu {

extern const AttentionKernel kAttentionAvx2;
const AttentionKernel kAttentionAvx2{"avx2", kPanel, kBlockRows, pack, attend, scratch_size};

}  // namespace ropewalk::cpu
