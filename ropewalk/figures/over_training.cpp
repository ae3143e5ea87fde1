#include "ropewalk/figures/over_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "ropewalk/figures/parts/checkpoint_axis.h"
#include "ropewalk/figures/parts/mean_layers.h"
#include "ropewalk/figures/parts/run_notes.h"
#include "ropewalk/figures/parts/stacked_shares.h"
#include "ropewalk/figures/parts/text_width.h"
#include "ropewalk/figures/parts/theme.h"
#include "ropewalk/figures/parts/view_look.h"
#include "ropewalk/figures/training_lines.h"

namespace ropewalk {
namespace {

constexpr double kHeight = 330;
constexpr double kHeightAbove = 250;  // of a plot with another one below it
constexpr double kHeightOfComponents = 190;
constexpr double kMargin = 0.04;  // of an axis that is fitted to its numbers

// The lowest and the highest value that lines reach with their bands and bars, but at least from
// `low` to `high`.
std::pair<double, double> reach(const CheckpointAxis& axis, const TrainingLines& lines, Band kind,
                                double low, double high) {
  for (const Slot& slot : axis.slots()) {
    for (const MeanSeries& series : lines.series) {
      const HeadMean number = series.number(*slot.numbers);
      if (!series.full || !std::isfinite(number.mean)) continue;
      const double error = std::isfinite(number.se) ? number.se : 0;
      const BandEnds band =
          slot.baseline ? BandEnds{number.mean, number.mean} : series.band(*slot.numbers, kind);
      low = std::fmin(std::min(low, number.mean - error), band.low);
      high = std::fmax(std::max(high, number.mean + error), band.high);
    }
  }
  return {low, high};
}

// One kind of band for all plots of a figure, because the subtitle describes all of them. Figures
// that reproduce published ones keep ±1 SD.
Band band_of(const CheckpointAxis& axis, const std::vector<TrainingLines>& plots) {
  const bool published = plots.front().first.statistic->table == Table::components;
  const bool passes = std::any_of(plots.begin(), plots.end(), [&](const TrainingLines& lines) {
    return passes_limits(axis, lines.series);
  });
  return passes && !published ? Band::quartiles : Band::sd;
}

// Limits and ticks of the y axis.
MeanPlot plot_of(const CheckpointAxis& axis, const TrainingLines& lines, Band band) {
  MeanPlot plot;
  plot.band = band;
  plot.y_title = fit_text(lines.figure.y_title, theme::kLabelSize, kHeight);
  plot.width = theme::kPlotWidth;
  plot.legend = lines.series.size() > 1;
  const bool bounded = lines.first.statistic->high <= 1;
  const auto [least, most] = reach(axis, lines, band, 0, 0);
  if (!bounded || least < -1) {
    // Adds a little room, so that nothing lies on the frame.
    const double margin = kMargin * (most - least);
    plot.low = least < 0 ? least - margin : 0;
    plot.high = most > 0 ? most + margin : 0;
    if (plot.low == plot.high) plot.high = 1;
    plot.tick = 0;  // the renderer chooses
    return plot;
  }
  const auto outward = [](double value, double steps) {
    return std::copysign(std::ceil(std::abs(value) * steps - 1e-9) / steps, value);
  };
  if (lines.figure.whole_axis) {
    // 0 to 1 where all bands are inside, else as far as needed.
    plot.low = outward(least, 20);
    plot.high = outward(std::max(most, 1.0), 20);
    plot.tick = 0.2;
    return plot;
  }
  // As far as bands reach, rounded outwards to a tick.
  plot.low = outward(least, 50);
  plot.high = outward(std::max(most, 0.1), 10);
  const double length = plot.high - plot.low;
  plot.tick = length <= 0.15 ? 0.02 : length <= 0.6 ? 0.1 : 0.2;
  return plot;
}

bool has_errors(const RunNumbers& run, const TrainingLines& lines) {
  return std::any_of(run.checkpoints.begin(), run.checkpoints.end(), [&](const auto& numbers) {
    return std::any_of(lines.series.begin(), lines.series.end(), [&](const MeanSeries& series) {
      return series.full && !std::isnan(series.number(numbers).se);
    });
  });
}

// Baselines may lack a number, for example one that is only known along a run.
bool has_baseline(const RunNumbers& run, const std::vector<TrainingLines>& plots) {
  return std::any_of(run.baselines.begin(), run.baselines.end(), [&](const auto& numbers) {
    return std::any_of(plots.begin(), plots.end(), [&](const TrainingLines& lines) {
      return std::any_of(lines.series.begin(), lines.series.end(), [&](const MeanSeries& series) {
        return series.full && !std::isnan(series.number(numbers).mean);
      });
    });
  });
}

std::string subtitle_of(const RunNumbers& run, const CheckpointAxis& axis,
                        const std::vector<TrainingLines>& plots) {
  const TrainingLines& lines = plots.front();
  const auto bands = std::count_if(lines.series.begin(), lines.series.end(),
                                   [](const MeanSeries& series) { return series.full; });
  std::string text = lines.figure.what + " over " + heads_text(run, lines.indexes);
  if (!lines.figure.stacked) {
    text += "; " + band_words(band_of(axis, plots), static_cast<size_t>(bands),
                              passes_limits(axis, lines.series));
    if (has_errors(run, lines)) {
      text += fmt::format("; {}: ±1 standard error over documents",
                          error_marks(axis, theme::kPlotWidth));
    }
  }
  text += ".";
  if (!lines.figure.stacked && band_of(axis, plots) == Band::quartiles &&
      mean_outside(axis, lines.series, Band::quartiles)) {
    text += kMeanOutside;
  }
  if (has_baseline(run, plots) && !lines.figure.stacked) {
    text += std::string(" Dotted: freshly initialised weights") +
            (axis.several_contexts() ? " at the same context." : ".");
  }
  if (!lines.figure.note.empty()) text += " " + lines.figure.note;
  if (lines.first.statistic->headline && !lines.figure.name.empty()) text += notes_on_pc0(run);
  return text;
}

// The mean of each line as a part of the whole; the second line of a hue gets the palest colour.
std::vector<SharePart> parts_of(const TrainingLines& lines) {
  std::vector<SharePart> parts;
  std::set<Hue> used;
  const std::vector<IndexedView> views = all_views();
  for (size_t i = 0; i < lines.series.size(); ++i) {
    const Hue hue = views[lines.indexes[i]].view->hue;
    const bool again = !used.insert(hue).second;
    const MeanSeries& series = lines.series[i];
    parts.push_back(
        {series.name,
         again ? theme::ramp_color(theme::hue_ramp(hue), 0.2) : std::string(theme::hue_color(hue)),
         [series](const CheckpointNumbers& c) { return series.number(c).mean; }});
  }
  return parts;
}

Json draw(const RunNumbers& run, const FigureOptions& options,
          const std::vector<TrainingLines>& plots) {
  const TrainingLines& lines = plots.front();
  const CheckpointAxis axis(run, options.time());
  const double width = theme::kPlotWidth;
  Json spec = theme::begin_figure(options.title, figure_title(run, lines.figure.title),
                                  subtitle_of(run, axis, plots), width);
  spec["params"] = axis.params();
  Json& datasets = spec["datasets"];
  if (lines.figure.stacked) {
    spec.update(stacked_shares(axis, parts_of(lines), {"parts", "", kHeight, true}, datasets));
    return spec;
  }
  const Band band = band_of(axis, plots);
  const auto plot = [&](Json& view, const TrainingLines& of, double height, size_t number) {
    view["width"] = width;
    view["height"] = height;
    MeanPlot look = plot_of(axis, of, band);
    look.below = number > 0;
    if (number > 0) look.dataset += fmt::format(" {}", number + 1);
    add_mean_layers(view, datasets, axis, of.series, look);
  };
  if (plots.size() == 1 && !lines.first.statistic->shares) {
    plot(spec, lines, kHeight, 0);
    return spec;
  }
  Json views = Json::array();
  for (size_t i = 0; i < plots.size(); ++i) {
    Json view = Json::object();
    plot(view, plots[i], kHeightAbove, i);
    views.push_back(view);
  }
  const std::vector<SharePart> components = component_parts(axis, lines.indexes.front());
  if (lines.first.statistic->shares && components.size() > 1) {
    const ShareLook look{"spectrum",
                         fmt::format("Components PC0 to PC{}, stacked", components.size() - 1),
                         kHeightOfComponents, false};
    views.push_back(stacked_shares(axis, components, look, datasets));
  }
  stack_plots(spec, std::move(views), 22);
  return spec;
}

}  // namespace

std::vector<std::string> training_figures() {
  std::vector<std::string> names;
  const auto add = [&](const auto& counts) {
    for (const Statistic* statistic : statistics()) {
      const std::string& name = statistic->figure.name;
      const bool known = std::find(names.begin(), names.end(), name) != names.end();
      if (!name.empty() && !known && counts(*statistic)) names.push_back(name);
    }
  };
  add([](const Statistic& one) { return one.headline; });
  add([](const Statistic& one) { return one.figure.first; });
  add([](const Statistic&) { return true; });
  return names;
}

bool can_draw(const RunNumbers& run, const std::string& figure) {
  const std::vector<TrainingLines> plots = plots_of_figure(figure);
  return std::any_of(plots.begin(), plots.end(), [&](const TrainingLines& lines) {
    return std::any_of(lines.indexes.begin(), lines.indexes.end(),
                       [&](size_t index) { return has_numbers(run, index); });
  });
}

Json over_training(const RunNumbers& run, const FigureOptions& options, const std::string& figure) {
  std::vector<TrainingLines> plots = plots_of_figure(figure);
  for (TrainingLines& lines : plots) lines.leave_out_empty(run);
  return draw(run, options, plots);
}

Json over_training(const RunNumbers& run, const FigureOptions& options, size_t view) {
  return draw(run, options, {lines_of_view(view)});
}

}  // namespace ropewalk
