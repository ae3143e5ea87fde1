#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "ropewalk/moments/accumulators/accumulator.h"

namespace ropewalk {

// Queries and keys of one token per bucket of positions of the first documents, as attention sees
// them. Fields, zero where nothing was measured, so that parts add:
//   query.sample, key.sample  [documents, buckets, d]
//   key.position              [documents, buckets]: the position of the token, plus 1
//   key.block                 [documents]: the document's block, plus 1
// Vectors are rounded to float16 where that holds them.
const Accumulator& plasticity();

// Which tokens and which pairs of keys plasticity is measured with (docs/method.md). Positions up
// to the context are divided into buckets of one width, and a document gives one token of each
// bucket. The choice depends only on the document's index and the bucket.
inline constexpr int64_t kPlasticityBuckets = 16;
inline constexpr int64_t kPlasticityDocuments = 256;  // only the first documents are used
// The most pairs of a document, for a bucket's queries.
inline constexpr int64_t kPlasticityPairs = 64;

// The number of documents with room in the sample, in a capture of that many documents.
int64_t plasticity_slots(int64_t documents);

// Positions [begin, end) of a bucket, without the first tokens of a document; may be empty.
struct PositionBucket {
  int64_t begin = 0;
  int64_t end = 0;
};
PositionBucket plasticity_bucket(int64_t bucket, int64_t context);

// The position of a document's token in a bucket; -1 where the document, of that many tokens, ends
// before it.
int64_t plasticity_token(int64_t document, int64_t bucket, int64_t context, int64_t tokens);

// Pairs of 0 … keys - 1, each with its lower number first: all of them, or a choice of the allowed
// number.
std::vector<std::pair<int, int>> plasticity_pairs(int64_t document, int64_t bucket, int64_t keys);

}  // namespace ropewalk
