#pragma once

namespace ropewalk::cpu {

// Whether this processor has instructions for products of bfloat16 matrices (AMX), and of vectors.
bool has_bfloat16_tiles();
bool has_bfloat16_vectors();

}  // namespace ropewalk::cpu
