// PC0 of queries and keys about their own means: what is left of it when the offset is gone.

#include "ropewalk/analysis/statistic.h"
#include "ropewalk/analysis/updated_axis.h"

namespace ropewalk::statistic {
namespace {

at::Tensor compute(const HeadCases& head) {
  const at::Tensor tokens = head.queries.tokens + head.keys.tokens;
  const at::Tensor values = head.basis_values * ((tokens - 1) / tokens).unsqueeze(1);
  const at::Tensor weight = head.share_q() * head.share_k();
  const at::Tensor offset = head.offset() * weight.sqrt().unsqueeze(1);
  const UpdatedAxis axis = updated_axis(values, head.basis, offset, -1);
  const at::Tensor all = values.sum(1) - row_dot(offset, offset);
  const at::Tensor v = with_signs(head, axis.vectors);
  const at::Tensor share = at::where(all > 0, axis.values / all, kUndefined);
  const auto r = [&](const StreamCases& stream) {
    return correlation_along(stream, v, stream.variance_along(v));
  };
  return at::stack({share, r(head.queries), r(head.keys)}, 1);
}

}  // namespace

const std::vector<Statistic>& within_classes() {
  static const std::vector<Statistic> kStatistics = computed_by(
      compute,
      {head_statistic("within_ev", "variance of PC0 within", Hue::both,
                      "share of the variance of queries and keys about their own means that their "
                      "first component has",
                      0, 1),
       head_statistic("within_r_q", "r_q within", Hue::queries,
                      "correlation of queries with token position along that component", -1, 1),
       with_absolute(head_statistic("within_r_k", "r_k within", Hue::keys,
                                    "correlation of keys with token position along that component",
                                    -1, 1))});
  return kStatistics;
}

}  // namespace ropewalk::statistic
