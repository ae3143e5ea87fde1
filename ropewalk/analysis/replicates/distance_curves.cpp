#include "ropewalk/analysis/replicates/distance_curves.h"

namespace ropewalk {
namespace {

DistanceCurves measure(const RopeReplicates& rope) {
  const RopeLayer& layer = *rope.layer;
  DistanceCurves curves;
  if (rope.lags) curves.actual = rope.lags->mean();
  if (!rope.has_sums() || layer.lags.empty()) return curves;
  const at::Tensor q = rope.queries->centre(), k = rope.keys->centre();
  const at::Tensor q_first = q.index_select(1, layer.first);
  const at::Tensor q_second = q.index_select(1, layer.second);
  const at::Tensor k_first = k.index_select(1, layer.first);
  const at::Tensor k_second = k.index_select(1, layer.second);
  // z_q times the conjugate of z_k, as both are multiplied beside turning.
  const double factor = layer.factor * layer.factor;
  const at::Tensor real = (q_first * k_first + q_second * k_second) * factor;
  const at::Tensor imaginary = (q_second * k_first - q_first * k_second) * factor;
  const at::Tensor rest = (q.index_select(1, layer.rest) * k.index_select(1, layer.rest)).sum(1);
  curves.predicted =
      at::mm(real, layer.cosines) - at::mm(imaginary, layer.sines) + at::outer(rest, layer.scaling);
  curves.near = at::mv(real, layer.near_cosines) - at::mv(imaginary, layer.near_sines) +
                rest * layer.near_scaling;
  return curves;
}

}  // namespace

const DistanceCurves& distance_curves(const HeadReplicates& head) {
  auto& found = head.shared->distance;
  if (!found) found = std::make_shared<const DistanceCurves>(measure(*head.rope));
  return *found;
}

}  // namespace ropewalk
