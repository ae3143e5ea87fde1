#pragma once

#include <cstdint>
#include <unordered_map>

#include "ropewalk/analysis/replicates/head_replicates.h"
#include "ropewalk/moments/vectors/vectors_reader.h"

namespace ropewalk {

inline constexpr int64_t kVectorBlocks = 16;  // fewer where there are fewer examples

using BlockOfExample = std::unordered_map<int64_t, int64_t>;

// Deals examples to blocks in turn, in order of their id. Neighbouring pieces of a text are not
// independent, so where ids are positions (`runs`) each block is one run of neighbours.
BlockOfExample assign_blocks(const VectorsReader& reader, bool runs);

// Moments of one stream in float64, about their own means. Throws InputError where the stream needs
// far more memory than its file has bytes.
StreamInput read_stream(const VectorsReader& reader, const StreamKey& key,
                        const BlockOfExample& block_of, int64_t blocks);

}  // namespace ropewalk
