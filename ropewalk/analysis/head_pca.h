#pragma once

#include <cstdint>
#include <vector>

#include "ropewalk/analysis/estimate.h"
#include "ropewalk/kernels/torch.h"

namespace ropewalk {

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

// Combined PCA of a query head and its KV head from their moments (docs/method.md): explained
// variance and correlation with position of the leading components, with jackknife standard errors.
// Numbers that are undefined are NaN and named in flags:
//   no_variance  nothing varies at all          rank         this component has no variance
//   constant_q, constant_k  no variance of queries or keys along the component
//   no_position  positions do not vary          no_se        fewer than two blocks
//   few_blocks   fewer than eight blocks: the standard errors are themselves uncertain
HeadComponents analyze_head(const StreamInput& q, const StreamInput& k, int64_t components);

}  // namespace ropewalk
