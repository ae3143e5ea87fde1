#include "ropewalk/analysis/replicates/distance_curves.h"

#include "ropewalk/analysis/replicates/centre_product.h"

namespace ropewalk {
namespace {

// Rows [replicates, pairs] times [replicates or 1, pairs, windows].
at::Tensor by_window(const at::Tensor& rows, const at::Tensor& windows) {
  if (windows.size(0) == 1) return at::mm(rows, windows[0]);
  return at::bmm(rows.unsqueeze(1), windows).squeeze(1);
}

DistanceCurves measure(const RopeReplicates& rope, double scale) {
  const RopeLayer& layer = *rope.layer;
  DistanceCurves curves;
  if (layer.windows.empty()) return curves;
  const at::Tensor bias = layer.distances * -rope.slope;  // [replicates or 1, windows]
  // In a layer whose attention slides there are fewer windows than captures have room for.
  const auto count = static_cast<int64_t>(layer.windows.size());
  if (rope.lags) curves.actual = rope.lags->mean().slice(1, 0, count) * scale + bias;
  if (!rope.has_sums()) return curves;
  const CentreProduct product = centre_product(layer, rope.queries->centre(), rope.keys->centre());
  const double factor = layer.factor * layer.factor;
  const at::Tensor turning = by_window(product.real * factor, layer.cosines) -
                             by_window(product.imaginary * factor, layer.sines);
  curves.predicted = (turning + product.rest.unsqueeze(1) * layer.scaling) * scale + bias;
  curves.every = product_by_distance(product, layer.theta, layer.factor, layer.span) * scale;
  if (layer.every_scaling.defined()) curves.every *= layer.every_scaling;
  if (rope.slope != 0) curves.every -= at::arange(layer.span, at::kDouble) * rope.slope;
  return curves;
}

}  // namespace

const DistanceCurves& distance_curves(const HeadReplicates& head) {
  auto& found = head.shared->distance;
  if (!found) found = std::make_shared<const DistanceCurves>(measure(*head.rope, head.units.scale));
  return *found;
}

bool prefers_no_distance(const HeadReplicates& head) {
  return head.rope && head.rope->layer->constant() && head.rope->slope == 0;
}

}  // namespace ropewalk
