// Mean r_q and r_k on PC0 over a training run.

#include <algorithm>
#include <cmath>

#include "ropewalk/figures/checkpoint_axis.h"
#include "ropewalk/figures/figure.h"
#include "ropewalk/figures/mean_layers.h"
#include "ropewalk/figures/theme.h"

namespace ropewalk {
namespace {

constexpr double kHeight = 330;

// Limits that hold every band: 0 to 1 where they lie within, else as far as needed.
std::pair<double, double> limits(const CheckpointAxis& axis) {
  double low = 0, high = 1;
  for (const Slot& slot : axis.slots()) {
    for (const HeadMean& number : {slot.numbers->r_q, slot.numbers->r_k}) {
      const double spread = slot.baseline || std::isnan(number.sd) ? 0 : number.sd;
      if (std::isnan(number.mean)) continue;
      low = std::min(low, number.mean - spread);
      high = std::max(high, number.mean + spread);
    }
  }
  const auto outward = [](double value) {
    return std::copysign(std::ceil(std::abs(value) * 20) / 20, value);
  };
  return {outward(low), outward(high)};
}

}  // namespace

Json position_signal(const RunNumbers& run, const FigureOptions& options) {
  const CheckpointAxis axis(run);
  std::string subtitle = "Mean over " + heads_text(run) + "; bands: ±1 SD across heads";
  if (run.standard_errors) subtitle += "; bars: ±1 standard error over documents";
  subtitle += ".";
  if (!run.baselines.empty()) subtitle += " Dotted: freshly initialised weights.";

  const MeanSeries r_q{
      "mean r_q (queries)", theme::kQueries, "circle", 2.6, true, [](const CheckpointNumbers& c) {
        return c.r_q;
      }};
  const MeanSeries r_k{
      "mean r_k (keys)", theme::kKeys, "square", 2.6, true, [](const CheckpointNumbers& c) {
        return c.r_k;
      }};
  const MeanSeries abs_r_k{"mean |r_k|", theme::kKeys,
                           "stroke",     1.3,
                           false,        [](const CheckpointNumbers& c) { return c.abs_r_k; }};

  Json spec = theme::begin_figure(options.title, "Position correlation on PC0 over training",
                                  subtitle, theme::kPlotWidth);
  spec["params"] = axis.params();
  spec["width"] = theme::kPlotWidth;
  spec["height"] = kHeight;
  const auto [low, high] = limits(axis);
  const MeanPlot plot{"correlation with token position", low, high, 0.2, theme::kPlotWidth, true};
  add_mean_layers(spec, spec["datasets"], axis, {r_q, r_k, abs_r_k}, plot);
  return spec;
}

}  // namespace ropewalk
