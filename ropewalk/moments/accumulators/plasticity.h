#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "ropewalk/moments/accumulators/accumulator.h"

namespace ropewalk {

// Queries and keys of one token per bucket of positions of the first documents, as attention sees
// them. Fields, zero where nothing was measured, so that parts add:
//   query.sample, key.sample  [documents, buckets, d]
//   key.position              [documents, buckets]: the token's place in the document, plus 1
//   key.block                 [documents]: the document's block, plus 1
// Vectors are rounded to float16 where that holds them.
const Accumulator& plasticity();

// Which tokens and which pairs of keys plasticity is measured with (docs/method.md). Positions up
// to the context lie in buckets of one width; a document gives one token of each. What is chosen
// hangs on the document's index and the bucket alone.
inline constexpr int64_t kPlasticityBuckets = 16;
inline constexpr int64_t kPlasticityDocuments = 256;  // the first ones
inline constexpr int64_t kPlasticityPairs = 64;  // of a document, at most, for a bucket's queries

// How many documents have room in the sample, of a capture of so many.
int64_t plasticity_slots(int64_t documents);

// Positions [begin, end) of a bucket, without the first tokens of a document; may be none.
struct PositionBucket {
  int64_t begin = 0;
  int64_t end = 0;
};
PositionBucket plasticity_bucket(int64_t bucket, int64_t context);

// The position of a document's token in a bucket; -1 where there is none, as the document of so
// many tokens ends before.
int64_t plasticity_token(int64_t document, int64_t bucket, int64_t context, int64_t tokens);

// Pairs of 0 … keys - 1, each with its lower number first: all of them, or as many as there may be.
std::vector<std::pair<int, int>> plasticity_pairs(int64_t document, int64_t bucket, int64_t keys);

}  // namespace ropewalk
