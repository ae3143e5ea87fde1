#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "ropewalk/analysis/replicates/head_replicates.h"

namespace ropewalk {

// How queries are ordered beside each other and which pairs of keys they are asked about: the same
// for all heads of a capture (moments/accumulators/plasticity.h).
struct PlasticityPlan {
  // Queries of a bucket stand in lanes of their groups, the blocks of documents that replicates
  // leave out: column step * lanes + lane. Columns without a query hold 0, which prefers no key.
  struct Bucket {
    int64_t number = 0;
    double centre = 0;             // mean position of its tokens
    int64_t steps = 0;             // columns are steps times lanes
    at::Tensor rows;               // [columns] int64: the query's document; 0 where there is none
    at::Tensor there;              // [columns, 1] float32: 1, or 0 where there is none
    std::vector<int64_t> column;   // by document; -1: it has no query here
    std::vector<int64_t> queries;  // by group
    std::vector<std::vector<std::pair<int, int>>> pairs;  // by document: buckets of two keys
  };
  std::vector<Bucket> buckets;  // that have tokens, from the third on
  int64_t documents = 0;
  int64_t replicates = 0;      // blocks; 0: all documents are one group and none is left out
  int64_t lanes = 0;           // of all groups, padded
  int64_t lanes_of_group = 0;  // that follow each other
  std::vector<int64_t> group;  // of each document; -1: none of it was kept

  int64_t groups() const { return replicates > 0 ? replicates : 1; }
};

// `position`: [documents, buckets], places in the document plus 1, 0: none; `group` as in the plan.
PlasticityPlan plan_plasticity(const std::vector<int64_t>& position,
                               const std::vector<int64_t>& group, int64_t replicates,
                               int64_t context);

// Vectors of a stream, [documents, buckets, d] float32, and the plan.
struct PlasticitySample {
  at::Tensor vectors;
  std::shared_ptr<const PlasticityPlan> plan;
};

// Plasticity of a head in each of the plan's buckets: [replicates, buckets] float64, NaN where it
// is undefined. The mean over pairs of keys of twice the chance that two queries, of other
// documents than the keys', disagree about which key they prefer. A tie is half of each.
at::Tensor measure_plasticity(const PlasticitySample& queries, const PlasticitySample& keys);

// The same of a head whose sample was kept, computed once; undefined where it was not.
const at::Tensor& head_plasticity(const HeadReplicates& head);

}  // namespace ropewalk
