#include "ropewalk/figures/parts/portrait_axis.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ropewalk/analysis/table/taxonomy.h"
#include "ropewalk/figures/parts/text_width.h"
#include "ropewalk/figures/parts/theme.h"

namespace ropewalk {
namespace {

// share of the larger limit, so that points at a limit are not cut off
constexpr double kMargin = 0.05;

}  // namespace

PortraitAxis::PortraitAxis(const std::vector<const CheckpointNumbers*>& panels, size_t view)
    : index_(view), indexed_(all_views().at(view)) {
  double least = std::nan(""), most = std::nan("");
  for (const CheckpointNumbers* numbers : panels) {
    for (const double value : numbers->views[index_].heads) {
      if (std::isnan(value)) continue;
      least = std::fmin(least, value);
      most = std::fmax(most, value);
    }
  }
  const Limits limits = view_limits(indexed_, least, most);
  const double margin = kMargin * std::max(std::abs(limits.low), std::abs(limits.high));
  constexpr double kMost = std::numeric_limits<double>::max();
  low_ = std::max(limits.low - margin, -kMost);
  high_ = std::min(limits.high + margin, kMost);
  if (key() == "r_q") thresholds_ = {kLowCorrelation, kHighCorrelation};
  if (key() == "r_k") {
    thresholds_ = {-kHighCorrelation, -kLowCorrelation, kLowCorrelation, kHighCorrelation};
  }
}

double PortraitAxis::value(const CheckpointNumbers& numbers, size_t head) const {
  return numbers.views[index_].heads[head];
}

Json PortraitAxis::channel(bool shown, double length) const {
  Json axis{
      {"title", Json()}, {"labels", shown}, {"grid", false}, {"domain", true}, {"ticks", shown}};
  if (thresholds_.empty()) {
    axis["tickCount"] = 4;
    axis["labelFlush"] = false;
    if (shown) axis["title"] = fit_text(title(), theme::kLabelSize, length + 20);
  } else {
    Json values = thresholds_;
    values.push_back(0);
    if (key() == "r_q") values.push_back(1);
    axis["values"] = values;
    axis["format"] = ".1f";
    if (shown) axis["title"] = key() == "r_q" ? "r_q (queries)" : "r_k (keys)";
  }
  return {{"type", "quantitative"},
          {"scale", {{"domain", {low_, high_}}, {"nice", false}, {"zero", false}}},
          {"axis", axis}};
}

}  // namespace ropewalk
