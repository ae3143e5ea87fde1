#pragma once

#include <cstdint>

namespace ropewalk {

// The most blocks of documents that a capture may have. Analysis takes time and memory with their
// square: of 256 blocks and 128 dimensions, most of a GiB for each core.
inline constexpr int64_t kMostBlocks = 256;

// The most principal components of a head that a table has rows of.
inline constexpr int64_t kMostComponents = 1024;

}  // namespace ropewalk
