// Which distance between a query and a key a head prefers. curves.csv has both curves.

#include <algorithm>
#include <cmath>

#include "ropewalk/analysis/math/drawn_argmax.h"
#include "ropewalk/analysis/replicates/distance_curves.h"
#include "ropewalk/analysis/replicates/distance_flags.h"
#include "ropewalk/analysis/statistics/statistic.h"

namespace ropewalk::statistic {
namespace {

constexpr int64_t kFewestPoints = 3;   // for a correlation
constexpr int64_t kNearDistance = 16;  // and nearer

// Correlation of rows [replicates, points], weighted: [replicates].
at::Tensor correlation(const at::Tensor& a, const at::Tensor& b, const at::Tensor& weights) {
  const at::Tensor all = weights.sum(1, true);
  const auto centred = [&](const at::Tensor& x) {
    const at::Tensor kept = at::where(weights > 0, x, 0.0);
    return kept - (kept * weights).sum(1, true) / all;
  };
  const at::Tensor x = centred(a), y = centred(b);
  const at::Tensor sizes = (row_dot(x * weights, x) * row_dot(y * weights, y)).sqrt();
  const at::Tensor known = (sizes > 0).logical_and((weights > 0).sum(1) >= kFewestPoints);
  return at::where(known, (row_dot(x * weights, y) / sizes).clamp(-1, 1), kUndefined);
}

// The head's preference; of its curve at every distance.
bool has_preference(const HeadReplicates& head) {
  return head.rope && !prefers_no_distance(head) && distance_curves(head).every.defined();
}

at::Tensor compute(const HeadReplicates& head) {
  at::Tensor numbers = at::full({head.blocks() + 1, 6}, kUndefined, at::kDouble);
  if (!has_preference(head)) return numbers;
  const RopeLayer& layer = *head.rope->layer;
  const DistanceCurves& curves = distance_curves(head);
  const at::Tensor& every = curves.every;
  const int64_t far = (layer.span + 3) / 4;
  numbers.select(1, 0).copy_(every.argmax(1));
  numbers.select(1, 1).copy_(every.amax(1) - every.amin(1));
  numbers.select(1, 2).copy_(every.slice(1, 0, kNearDistance + 1).mean(1) -
                             every.slice(1, far).mean(1));
  const at::Tensor octaves = at::arange(1, layer.span + 1, at::kDouble).log2();
  numbers.select(1, 3).copy_(at::mv(every.softmax(1), octaves));
  const at::Tensor unknown = every.isnan().any(1);
  numbers.select(1, 0).masked_fill_(unknown, kUndefined);
  if (!curves.actual.defined()) return numbers;
  const at::Tensor pairs = at::where(curves.actual.isnan(), 0.0,
                                     head.rope->lags->count.slice(1, 0, curves.actual.size(1)));
  std::vector<double> apart;  // 0 of a token with itself
  for (const DistanceWindow& window : layer.windows) apart.push_back(window.begin > 0 ? 1 : 0);
  numbers.select(1, 4).copy_(
      correlation(curves.predicted, curves.actual, pairs * at::tensor(apart, at::kDouble)));
  const at::Tensor content = at::where(pairs > 0, curves.actual - curves.predicted, 0.0);
  numbers.select(1, 5).copy_(((content.square() * pairs).sum(1) / pairs.sum(1)).sqrt());
  return numbers;
}

at::Tensor span(const HeadReplicates& head) {
  const double found =
      has_preference(head) ? static_cast<double>(head.rope->layer->span) : kUndefined;
  return at::full({1, 1}, found, at::kDouble);
}

// Half of what holds the middle 68 % of the resamples, in octaves: the best distance is a step
// function of the curve. A whole number is known to half a token at best.
double argmax_error(const HeadReplicates& head) {
  if (!has_preference(head) || head.blocks() < 2) return kUndefined;
  const at::Tensor& every = distance_curves(head).every;
  if (every.isnan().any().item<bool>()) return kUndefined;
  const auto octaves = [](const at::Tensor& distance) { return (distance + 1).log2(); };
  const at::Tensor best = octaves(drawn_argmax(every).to(at::kDouble));
  const auto between = [](const at::Tensor& ends) {
    return (ends[1] - ends[0]).item<double>() / 2;
  };
  const double drawn = between(best.quantile(at::tensor({0.16, 0.84}, at::kDouble)));
  const auto found = static_cast<double>(every[0].argmax().item<int64_t>());
  return std::max(drawn, between(octaves(at::tensor({found - 0.5, found + 0.5}, at::kDouble))));
}

bool has_single_distances(const HeadReplicates& head) {
  return head.rope && head.rope->lags && head.rope->lags->single;
}

std::vector<HeadFlag> flags() {
  return {
      {"no_lags", "The capture holds no logits by distance: numbers that need them are empty.",
       [](const HeadReplicates& head) { return !head.rope || !head.rope->lags; }},
      {kNoDistance,
       "Without RoPE or a bias of distance, the mean query and key have the same logit at every "
       "distance: numbers of which distance the head prefers are empty.",
       prefers_no_distance},
      {kSingleDistances,
       "The capture is of an earlier version, which took logits at single distances and not "
       "over windows: beside captures that have windows, numbers that need them are empty.",
       has_single_distances}};
}

}  // namespace

const std::vector<Statistic>& distance() {
  static const std::vector<Statistic> kStatistics = [] {
    constexpr double kAny = std::numeric_limits<double>::max();
    std::vector<Statistic> list = computed_by(
        compute,
        {head_statistic("dist_argmax", "preferred distance", Hue::both,
                        "distance, below `dist_context`, at which the RoPE-rotated mean query and "
                        "mean key have the largest logit; its error is half the range of the "
                        "middle 68 % of resamples, in octaves of distance plus 1",
                        ChangeScale::distance, 0, kAny),
         head_statistic("dist_range", "preference of distance", Hue::both,
                        "largest less smallest logit of the RoPE-rotated mean query and mean key, "
                        "over every distance below `dist_context`",
                        ChangeScale::size, 0, kAny),
         head_statistic("dist_near", "preference of near tokens", Hue::both,
                        "mean logit of the mean query and key over all distances up to 16 less "
                        "that over all from a quarter of `dist_context` on",
                        ChangeScale::plain, -kAny, kAny, true),
         head_statistic("dist_reach", "reach of the preference", Hue::both,
                        "mean of log2 of distance plus 1 under the softmax, over every distance "
                        "below `dist_context`, of the logit of the mean query and key: how far "
                        "these alone look, in octaves",
                        ChangeScale::plain, 0, kAny, true),
         head_statistic("dist_r", "predicted and actual logits, r", Hue::both,
                        "correlation of the logit of the mean query and key with the mean actual "
                        "logit, over the windows of curves.csv from distance 1 on, weighted by "
                        "their pairs",
                        ChangeScale::correlation, -1, 1),
         head_statistic("dist_content", "logits beyond the means", Hue::both,
                        "root mean square, over the windows of curves.csv, weighted by their "
                        "pairs, of the mean actual logit less that of the mean query and key: what "
                        "content adds",
                        ChangeScale::size, 0, kAny)});
    list.front().step = true;
    list.front().step_error = argmax_error;
    list.push_back(head_statistic("dist_context", "distances asked for", Hue::both,
                                  "the smallest context of the study's checkpoints, or the sliding "
                                  "window of the layer where it is smaller: preferences are of "
                                  "distances below it",
                                  ChangeScale::plain, 0, kAny));
    list.back().compute = span;
    list.back().error = false;
    list.back().flags = flags();
    return list;
  }();
  return kStatistics;
}

}  // namespace ropewalk::statistic
