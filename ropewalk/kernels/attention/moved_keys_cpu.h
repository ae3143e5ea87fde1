#pragma once

#include "ropewalk/kernels/attention/moved_keys.h"

namespace ropewalk {

// move_keys() of tensors on the CPU, by loops over runs of keys. QueryRows::columns must be there
// where RoPE turns keys.
MovedKeys move_keys_cpu(const QueryRows& all, const UncappedRows& rows);

// Keys as move_keys_cpu() reads them: [KV heads, T, d_head] → [KV heads, d_head, T and a few more].
at::Tensor key_columns(const at::Tensor& keys);

}  // namespace ropewalk
