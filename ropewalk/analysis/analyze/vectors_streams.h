#pragma once

#include <cstdint>
#include <unordered_map>

#include "ropewalk/analysis/replicates/head_replicates.h"
#include "ropewalk/moments/vectors/vectors_reader.h"

namespace ropewalk {

inline constexpr int64_t kVectorBlocks = 16;  // of examples, where there are as many

using BlockOfExample = std::unordered_map<int64_t, int64_t>;

// Deals examples to blocks in turn, in order of their id. Pieces of a text are not independent of
// their neighbours: where ids are places (`runs`), each block is a run of them.
BlockOfExample assign_blocks(const VectorsReader& reader, bool runs);

// Moments of one stream in float64, about their own means. Throws InputError where it needs far
// more memory than its file has bytes.
StreamInput read_stream(const VectorsReader& reader, const StreamKey& key,
                        const BlockOfExample& block_of, int64_t blocks);

}  // namespace ropewalk
