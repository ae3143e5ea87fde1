#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "ropewalk/kernels/torch.h"

namespace ropewalk {

inline constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kSignSwitch = 0.05;  // below this |r_q|, a component's sign follows r_k

// One stream's moments for the analysis: in all, and in each non-empty block.
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
};

// A stream's moments for the whole sample (row 0) and without each block (rows 1 …); sums are about
// the case's own mean.
struct StreamCases {
  at::Tensor tokens;            // [cases]
  at::Tensor position_scatter;  // [cases]
  at::Tensor mean;              // [cases, d]
  at::Tensor position;          // [cases, d]
  at::Tensor products;          // [cases, d, d]
};
StreamCases leave_one_out(const StreamInput& stream);

// What statistics are computed from: a query head and its KV head in every case, and the combined
// PCA of both (docs/method.md). Vectors of replicates point the way of the whole sample's, whose
// sign makes r_q >= 0, or r_k >= 0 where |r_q| < kSignSwitch.
struct HeadCases {
  StreamCases queries;
  StreamCases keys;
  at::Tensor trace;        // [cases]: variance in all
  at::Tensor eigenvalues;  // [cases, components], decreasing, not below 0
  at::Tensor vectors;      // [cases, d, components]
  at::Tensor overlap;      // [cases, components]: with the whole sample's vector, before signs
  at::Tensor no_rank;      // [cases, components] bool: nothing varies along the component

  int64_t blocks() const { return trace.size(0) - 1; }
  int64_t components() const { return eigenvalues.size(1); }
};
HeadCases make_cases(const StreamCases& queries, const StreamCases& keys, int64_t components);

// Correlation of one of the head's streams with position along each component: [cases, components].
at::Tensor position_correlation(const HeadCases& head, const StreamCases& stream);

}  // namespace ropewalk
