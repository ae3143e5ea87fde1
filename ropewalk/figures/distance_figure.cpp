#include <fmt/format.h>

#include <algorithm>

#include "ropewalk/figures/parts/distance_panel.h"
#include "ropewalk/figures/parts/run_notes.h"
#include "ropewalk/figures/series_figures.h"

namespace ropewalk {
namespace {

constexpr double kPanelWidth = 205;
constexpr double kPanelHeight = 170;
constexpr double kGap = 18;
constexpr size_t kColumns = 3;

}  // namespace

bool has_distances(const RunNumbers& run) {
  return std::any_of(run.checkpoints.begin(), run.checkpoints.end(), [](const auto& numbers) {
    return std::any_of(
        std::begin(kDistanceCurves), std::end(kDistanceCurves),
        [&](const DistanceCurve& curve) { return series_mean(numbers, curve.key) != nullptr; });
  });
}

Json distance_figure(const RunNumbers& run, const FigureOptions& options) {
  const auto chosen = portrait_checkpoints(run, options);
  const double width = kColumns * kPanelWidth + (kColumns - 1) * kGap;
  const DistanceColors colors = curve_colors(width);
  // One span: panels differ in time, and are to be compared.
  DistanceSpan span;
  int64_t heads = 0;
  Json datasets = Json::object();
  for (size_t i = 0; i < chosen.size(); ++i) {
    std::vector<DistanceLine> lines;
    for (const DistanceCurve& curve : kDistanceCurves) {
      const SeriesNumbers* mean = series_mean(*chosen[i], curve.key);
      if (mean == nullptr) continue;
      heads = std::max(heads, mean->heads);
      lines.push_back({&curve, chosen[i]->label, std::string(curve.color), mean->x, mean->value,
                       mean->se, mean->begin, mean->end});
    }
    datasets[fmt::format("curves {}", i)] = distance_rows(lines, span);
  }
  Json spec =
      theme::begin_figure(options.title, "Logits by distance, predicted and actual",
                          fmt::format("Mean over {}{} heads. {}", run.models ? "up to " : "", heads,
                                      distance_words(span)),
                          width);
  Json views = Json::array();
  const size_t columns = std::min(kColumns, chosen.size());
  for (size_t i = 0; i < chosen.size(); ++i) {
    const bool left = i % columns == 0, bottom = i + columns >= chosen.size();
    views.push_back(distance_panel({i, chosen[i]->label, phase_with_context(run, *chosen[i]),
                                    kPanelWidth, kPanelHeight, bottom, left, left},
                                   span, colors));
  }
  add_panels(spec, std::move(datasets), std::move(views), kColumns, kGap);
  return spec;
}

}  // namespace ropewalk
