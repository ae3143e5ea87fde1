#pragma once

#include <cstdint>

namespace ropewalk {

// Most blocks of documents in a capture. The analysis takes time and memory with the square of
// their number: with 256 blocks and 128 dimensions, nearly a GiB per core.
inline constexpr int64_t kMostBlocks = 256;

// Most principal components of a head that a table has rows for.
inline constexpr int64_t kMostComponents = 1024;

}  // namespace ropewalk
