#include "ropewalk/analysis/replicates/head_axes.h"

#include "ropewalk/analysis/replicates/drift_axis.h"

namespace ropewalk {
namespace {

HeadAxes find_axes(const HeadReplicates& head) {
  const StreamReplicates &q = head.queries, &k = head.keys;
  HeadAxes axes;
  const at::Tensor drift = drift_axis(head);
  axes.a_known = at::isfinite(drift).all(1);
  axes.a = at::where(axes.a_known.unsqueeze(1), drift, 0.0);
  axes.within = orient_to_full_sample(head, head.widest.within);
  axes.within_values = head.widest.within_values;
  const at::Tensor& b = head.widest.b;
  axes.b = b * at::where(row_dot(b, head.offset()) < 0, -1.0, 1.0).unsqueeze(1);
  axes.b_values = head.widest.b_values;
  axes.q_variance = q.variance_along(at::stack({axes.within, axes.a, axes.b, k.slope()}, 2));
  axes.k_variance = k.variance_along(at::stack({axes.within, axes.a, axes.b, q.mean}, 2));
  return axes;
}

}  // namespace

const HeadAxes& head_axes(const HeadReplicates& head) {
  if (!head.shared->axes) head.shared->axes = std::make_shared<const HeadAxes>(find_axes(head));
  return *head.shared->axes;
}

}  // namespace ropewalk
