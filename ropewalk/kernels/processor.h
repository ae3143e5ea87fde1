#pragma once

namespace ropewalk::cpu {

// Instructions of this processor for products of bfloat16 numbers: of matrices (AMX), of vectors.
bool has_bfloat16_tiles();
bool has_bfloat16_vectors();

}  // namespace ropewalk::cpu
