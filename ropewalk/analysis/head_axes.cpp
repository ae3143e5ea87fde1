#include "ropewalk/analysis/head_axes.h"

#include "ropewalk/analysis/drift_axis.h"
#include "ropewalk/analysis/updated_axis.h"

namespace ropewalk {
namespace {

HeadAxes find_axes(const HeadCases& head) {
  const StreamCases &q = head.queries, &k = head.keys;
  HeadAxes axes;
  const at::Tensor drift = drift_axis(head);
  axes.a_known = at::isfinite(drift).all(1);
  axes.a = at::where(axes.a_known.unsqueeze(1), drift, 0.0);
  // In the basis of the components, where the pool's covariance is a diagonal and the offset of
  // queries and keys one more rank.
  const at::Tensor apart = head.offset() * (head.share_q() * head.share_k()).sqrt().unsqueeze(1);
  const at::Tensor turned = at::bmm(at::stack({apart, axes.a}, 1), head.basis);  // [cases, 2, d]
  const at::Tensor variances = head.variances();
  const UpdatedAxis within = updated_axis(variances, turned.select(1, 0), -1);
  const UpdatedAxis second = updated_axis(variances, turned.select(1, 0), 1, turned.select(1, 1));
  const at::Tensor back = at::bmm(head.basis, at::stack({within.vectors, second.vectors}, 2));
  axes.within = with_signs(head, back.select(2, 0));
  axes.within_values = within.values;
  const at::Tensor b = back.select(2, 1);
  axes.b = b * at::where(row_dot(b, head.offset()) < 0, -1.0, 1.0).unsqueeze(1);
  axes.b_values = second.values;
  axes.q_variance = q.variance_along(at::stack({axes.within, axes.a, axes.b, k.slope()}, 2));
  axes.k_variance = k.variance_along(at::stack({axes.within, axes.a, axes.b, q.mean}, 2));
  return axes;
}

}  // namespace

const HeadAxes& head_axes(const HeadCases& head) {
  if (!head.shared->axes) head.shared->axes = std::make_shared<const HeadAxes>(find_axes(head));
  return *head.shared->axes;
}

}  // namespace ropewalk
