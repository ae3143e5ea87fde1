#pragma once

#include <any>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ropewalk/analysis/math/widest_axes.h"
#include "ropewalk/analysis/replicates/logit_units.h"
#include "ropewalk/analysis/replicates/sign_rule.h"
#include "ropewalk/kernels/torch.h"

namespace ropewalk {

struct Bands;
struct DistanceCurves;
struct RopeReplicates;
struct RopeLayer;

inline constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

// One stream's moments for the analysis: in total, and in each non-empty block.
struct StreamInput {
  double tokens = 0;
  double position_mean = 0;
  double position_scatter = 0;
  at::Tensor mean;      // [d] float64
  at::Tensor position;  // [d] float64
  at::Tensor products;  // [d, d] float64

  std::vector<double> block_tokens;
  std::vector<double> block_position_mean;
  std::vector<double> block_position_scatter;
  at::Tensor block_mean;      // [blocks, d] float64
  at::Tensor block_position;  // [blocks, d] float64
  at::Tensor block_products;  // [blocks, d, d] float64

  std::shared_ptr<const RopeLayer> layer;  // see rope_replicates.h; null: not known
  double slope = 0;                        // of queries: see RopeReplicates

  // Whether the capture lacks something that captures keep by default.
  bool lacks_default_accumulators = false;

  // What else the capture kept of the stream: per accumulator's name a std::shared_ptr<const T>
  // (kept_parts.h).
  std::map<std::string, std::any, std::less<>> parts;
  // Null where the accumulator was not kept.
  template <typename T>
  std::shared_ptr<const T> part(std::string_view accumulator) const {
    const auto found = parts.find(accumulator);
    return found == parts.end() ? nullptr : std::any_cast<std::shared_ptr<const T>>(found->second);
  }
};

// A stream's moments for the whole sample (row 0) and without each block (rows 1 …); sums are about
// the replicate's own mean.
struct StreamReplicates {
  at::Tensor tokens;            // [replicates]
  at::Tensor position_mean;     // [replicates]
  at::Tensor position_scatter;  // [replicates]
  at::Tensor mean;              // [replicates, d]
  at::Tensor position;          // [replicates, d]
  at::Tensor products;          // [replicates, d, d]
  StreamInput input;            // the moments from which this was computed

  // Results that several statistics need; shared by the query heads that read the same keys.
  struct SharedResults {
    at::Tensor values, vectors;          // see full_sample_eigenvalues()
    at::Tensor fit;                      // see position_fit.h
    at::Tensor rank;                     // see statistics/shape.cpp
    at::Tensor participation;            // see statistics/shape.cpp
    std::shared_ptr<const Bands> bands;  // see bands.h
  };
  std::shared_ptr<SharedResults> shared = std::make_shared<SharedResults>();

  int64_t cases() const { return tokens.size(0); }
  int64_t dimensions() const { return mean.size(1); }
  at::Tensor position_variance() const { return position_scatter / tokens; }     // [replicates]
  at::Tensor drift() const { return position / tokens.unsqueeze(1); }            // Cov(x, t)
  at::Tensor slope() const { return position / position_scatter.unsqueeze(1); }  // per token
  // Along directions [replicates, d] or [replicates, d, c]: [replicates] or [replicates, c].
  at::Tensor variance_along(const at::Tensor& directions) const;
  // Eigenvalues (ascending) and eigenvectors of the whole sample's products: [d], [d, d].
  const at::Tensor& full_sample_eigenvalues() const;
  const at::Tensor& full_sample_eigenvectors() const;
};
StreamReplicates leave_one_out(const StreamInput& stream);

struct HeadAxes;

// The data from which statistics are computed: a query head and its KV head in every replicate, and
// the PCA of both together (docs/method.md). Vectors of replicates are oriented like the whole
// sample's, whose sign makes r_q >= 0, or r_k >= 0 where |r_q| < kSignSwitch.
struct HeadReplicates {
  StreamReplicates queries;
  StreamReplicates keys;
  LogitUnits units;
  at::Tensor trace;        // [replicates]: total variance
  at::Tensor eigenvalues;  // [replicates, components], decreasing, never negative
  at::Tensor
      // [replicates, d, n]: eigenvectors, decreasing; n is kLeading, or `components` if that is
      // more, at most d
      leading;
  at::Tensor vectors;  // [replicates, d, components]: the first of `leading`
  // [replicates, components]: cosine with the whole sample's vector, before orientation
  at::Tensor overlap;
  at::Tensor no_rank;  // [replicates, components] bool: nothing varies along the component
  at::Tensor q_image;  // products of queries times `leading`, in the same shape
  at::Tensor k_image;  // products of keys times `leading`
  WidestAxes widest;   // the axes in the order and sign in which they were found
  std::shared_ptr<const RopeReplicates> rope;  // null: unknown, as for vectors

  struct SharedResults {
    std::shared_ptr<const HeadAxes> axes;               // see head_axes.h
    std::shared_ptr<const DistanceCurves> distance;     // see distance_curves.h
    std::map<std::string, at::Tensor, std::less<>> of;  // other results, per accumulator
  };
  std::shared_ptr<SharedResults> shared = std::make_shared<SharedResults>();

  int64_t blocks() const { return trace.size(0) - 1; }
  int64_t components() const { return eigenvalues.size(1); }
  int64_t dimensions() const { return queries.dimensions(); }
  at::Tensor share_q() const {
    return queries.tokens / (queries.tokens + keys.tokens);
  }  // [replicates]
  at::Tensor share_k() const { return keys.tokens / (queries.tokens + keys.tokens); }
  at::Tensor offset() const { return queries.mean - keys.mean; }  // [replicates, d]
  at::Tensor variance() const;  // [replicates]: total, over tokens
};
inline constexpr int64_t kLeading = 10;
HeadReplicates make_replicates(const StreamReplicates& queries, const StreamReplicates& keys,
                               int64_t components, const LogitUnits& units = {});

// Correlation with position along each component: [replicates, components].
at::Tensor correlation_of_queries(const HeadReplicates& head);
at::Tensor correlation_of_keys(const HeadReplicates& head);

// Correlation with position along any directions [replicates, d], given the variances along them:
// [replicates]. NaN where undefined.
at::Tensor correlation_along(const StreamReplicates& stream, const at::Tensor& directions,
                             const at::Tensor& variances);

// Orients directions [replicates, d]: the whole sample's by the sign rule, those of replicates like
// the whole sample's.
at::Tensor orient_to_full_sample(const HeadReplicates& head, const at::Tensor& directions);

// Scalar products of rows: [replicates, d] with [replicates, d] gives [replicates].
at::Tensor row_dot(const at::Tensor& a, const at::Tensor& b);
// Scalar products of matrices, [replicates, d, d]: the trace of aᵀb.
at::Tensor matrix_dot(const at::Tensor& a, const at::Tensor& b);
// Multiplies rows [replicates, n, d], or [n, d] for all replicates, by matrices [replicates, d, d]:
// [replicates, n, d].
at::Tensor times_products(const at::Tensor& rows, const at::Tensor& products);

}  // namespace ropewalk
