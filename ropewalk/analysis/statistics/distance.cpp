// Which distance between a query and a key a head prefers. curves.csv has both curves.

#include <cmath>
#include <map>

#include "ropewalk/analysis/math/resampling.h"
#include "ropewalk/analysis/replicates/distance_curves.h"
#include "ropewalk/analysis/statistics/statistic.h"

namespace ropewalk::statistic {
namespace {

constexpr int64_t kFewestLags = 3;  // for a correlation

at::Tensor lags_of(const RopeLayer& layer) {
  return at::tensor(layer.lags, at::kLong).to(at::kDouble);
}

// Correlation of rows [replicates, lags] over the lags that `use` marks, in float64: [replicates].
at::Tensor correlation(const at::Tensor& a, const at::Tensor& b, const at::Tensor& use) {
  const at::Tensor n = use.sum(1, true);
  const auto centred = [&](const at::Tensor& x) {
    const at::Tensor kept = at::where(use > 0, x, 0.0);
    return (kept - kept.sum(1, true) / n) * use;
  };
  const at::Tensor x = centred(a), y = centred(b);
  const at::Tensor sizes = (row_dot(x, x) * row_dot(y, y)).sqrt();
  const at::Tensor known = (sizes > 0).logical_and(n.squeeze(1) >= kFewestLags);
  return at::where(known, (row_dot(x, y) / sizes).clamp(-1, 1), kUndefined);
}

at::Tensor compute(const HeadReplicates& head) {
  at::Tensor numbers = at::full({head.blocks() + 1, 5}, kUndefined, at::kDouble);
  if (!head.rope) return numbers;
  const RopeLayer& layer = *head.rope->layer;
  const DistanceCurves& curves = distance_curves(head);
  if (!curves.predicted.defined()) return numbers;
  const double scale = head.units.scale;
  if (layer.turns) {
    numbers.select(1, 0).copy_(lags_of(layer).index_select(0, curves.predicted.argmax(1)));
  }
  const at::Tensor range = curves.predicted.amax(1) - curves.predicted.amin(1);
  const bool flat = !layer.turns && layer.near_scaling == 0;  // but for rounding
  numbers.select(1, 1).copy_((flat ? at::zeros_like(range) : range) * scale);
  numbers.select(1, 2).copy_(curves.near * scale);
  if (!curves.actual.defined()) return numbers;
  const at::Tensor known = curves.actual.isnan().logical_not();
  const at::Tensor apart = lags_of(layer) >= 1;
  if (layer.turns) {
    numbers.select(1, 3).copy_(
        correlation(curves.predicted, curves.actual, known.logical_and(apart).to(at::kDouble)));
  }
  const at::Tensor content = at::where(known, curves.actual - curves.predicted, 0.0);
  numbers.select(1, 4).copy_((content.square().sum(1) / known.sum(1)).sqrt() * std::abs(scale));
  return numbers;
}

// How often blocks are drawn, less once each: [draws, blocks].
const at::Tensor& draws(size_t blocks) {
  thread_local std::map<size_t, at::Tensor> known;
  at::Tensor& found = known[blocks];
  if (found.defined()) return found;
  std::vector<double> counts;
  for (const std::vector<int>& draw : block_draws(blocks)) {
    counts.insert(counts.end(), draw.begin(), draw.end());
  }
  found = at::tensor(counts, at::kDouble).reshape({kResamples, -1}) - 1;
  return found;
}

// The best distance is a step function of the curve: spread over resamples of it (resampling.h).
// Where all of them have the same one, that is no certainty: distances between are not listed.
double argmax_error(const HeadReplicates& head) {
  if (!head.rope || !head.rope->layer->turns || head.blocks() < 2) return kUndefined;
  const at::Tensor& curve = distance_curves(head).predicted;
  if (!curve.defined()) return kUndefined;
  const auto g = static_cast<double>(head.blocks());
  const at::Tensor parts = (curve.slice(0, 0, 1) - curve.slice(0, 1)) * ((g - 1) / g);
  const at::Tensor drawn =
      at::mm(draws(static_cast<size_t>(head.blocks())), parts) + curve.slice(0, 0, 1);
  const at::Tensor best = lags_of(*head.rope->layer).index_select(0, drawn.argmax(1)).contiguous();
  const double* data = best.const_data_ptr<double>();
  const double spread = standard_deviation({data, static_cast<size_t>(best.numel())});
  return spread > 0 ? spread : kUndefined;
}

bool coarse_argmax(const HeadReplicates& head) {
  if (!head.rope || !head.rope->layer->turns || head.blocks() < 2) return false;
  return distance_curves(head).predicted.defined() && std::isnan(argmax_error(head));
}

}  // namespace

const std::vector<Statistic>& distance() {
  static const std::vector<Statistic> kStatistics = [] {
    constexpr double kAny = std::numeric_limits<double>::max();
    std::vector<Statistic> list = computed_by(
        compute,
        {head_statistic("dist_argmax", "preferred distance", Hue::both,
                        "distance, of those in curves.csv, at which the RoPE-rotated mean query "
                        "and mean key have the largest logit",
                        ChangeScale::distance, 0, kAny),
         head_statistic("dist_range", "preference of distance", Hue::both,
                        "largest less smallest logit of the RoPE-rotated mean query and mean key, "
                        "over the distances in curves.csv",
                        ChangeScale::size, 0, kAny),
         head_statistic("dist_near", "preference of near tokens", Hue::both,
                        "mean logit of the mean query and key over all distances up to 16 less "
                        "that over all from a quarter of the context on",
                        ChangeScale::plain, -kAny, kAny, true),
         head_statistic("dist_r", "predicted and actual logits, r", Hue::both,
                        "correlation of the logit of the mean query and key with the mean actual "
                        "logit, over the distances in curves.csv from 1 on",
                        ChangeScale::correlation, -1, 1),
         head_statistic("dist_content", "logits beyond the means", Hue::both,
                        "root mean square, over the distances in curves.csv, of the mean actual "
                        "logit less that of the mean query and key: what content adds",
                        ChangeScale::size, 0, kAny)});
    list.front().step = true;
    list.front().step_error = argmax_error;
    list.front().flags = {
        {"coarse_argmax",
         "No resample of the documents prefers another of the listed distances: the preferred "
         "distance is known no better than the list, and has no standard error.",
         coarse_argmax}};
    list.back().flags = {
        {"no_lags", "The capture holds no logits by distance: numbers that need them are empty.",
         [](const HeadReplicates& head) { return !head.rope || !head.rope->lags; }}};
    return list;
  }();
  return kStatistics;
}

}  // namespace ropewalk::statistic
