#pragma once

#include "ropewalk/moments/accumulators/second_moments.h"
#include "ropewalk/moments/files/capture_moments.h"

namespace ropewalk {

// A capture that read nothing, with one stream of one dimension of each kind.
inline CaptureMoments empty_moments(int64_t blocks) {
  CaptureMoments moments;
  moments.counts = BlockCounts(blocks);
  moments.queries = moments.keys = {{0, 0}};
  AccumulatedFields& kept = moments.accumulated.emplace_back();
  kept.accumulator = &second_moments();
  for (const KeptField& field : second_moments().fields({1})) {
    kept.total.push_back(at::zeros({1, field.width}, at::kDouble));
    kept.blocks.push_back(at::zeros({1, blocks, field.width}, at::kDouble));
  }
  return moments;
}

}  // namespace ropewalk
