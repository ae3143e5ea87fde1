#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "ropewalk/analysis/replicates/head_replicates.h"

namespace ropewalk {

// Which queries are compared with each other, and on which pairs of keys: the same for all heads of
// a capture (moments/accumulators/plasticity.h).
struct PlasticityPlan {
  // Queries of a bucket are arranged in lanes by group; groups are the blocks of documents that
  // replicates leave out. The column of a query is step * lanes + lane. Columns without a query
  // hold 0, which prefers no key.
  struct Bucket {
    int64_t number = 0;
    double centre = 0;             // mean position of the bucket's tokens
    int64_t steps = 0;             // there are steps * lanes columns
    at::Tensor rows;               // [columns] int64: the query's document; 0 in empty columns
    at::Tensor there;              // [columns, 1] float32: 1, or 0 in empty columns
    std::vector<int64_t> column;   // per document; -1: it has no query in this bucket
    std::vector<int64_t> queries;  // per group
    // per document: the two buckets of each pair of keys
    std::vector<std::vector<std::pair<int, int>>> pairs;
  };
  std::vector<Bucket> buckets;  // the buckets with tokens, from the third on
  int64_t documents = 0;
  int64_t replicates = 0;  // number of blocks; 0: all documents form one group and none is left out
  int64_t lanes = 0;       // lanes of all groups, padded
  int64_t lanes_of_group = 0;  // consecutive lanes per group
  std::vector<int64_t> group;  // per document; -1: nothing of it was kept

  int64_t groups() const { return replicates > 0 ? replicates : 1; }
};

// `position`: [documents, buckets], the token's index in the document plus 1, or 0 where there is
// none; `group` is explained in PlasticityPlan.
PlasticityPlan plan_plasticity(const std::vector<int64_t>& position,
                               const std::vector<int64_t>& group, int64_t replicates,
                               int64_t context);

// Vectors of a stream, [documents, buckets, d] float32, with the plan.
struct PlasticitySample {
  at::Tensor vectors;
  std::shared_ptr<const PlasticityPlan> plan;
};

// Plasticity of a head in each of the plan's buckets: [replicates, buckets] float64, NaN where
// undefined. It is the mean over pairs of keys of twice the probability that two queries, which are
// not from the document of the keys, disagree about which key they prefer. A tie counts as half.
at::Tensor measure_plasticity(const PlasticitySample& queries, const PlasticitySample& keys);

// The plasticity of a head, computed once; undefined where no sample of it was kept.
const at::Tensor& head_plasticity(const HeadReplicates& head);

}  // namespace ropewalk
