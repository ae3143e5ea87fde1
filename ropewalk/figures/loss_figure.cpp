#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ropewalk/base/printable.h"
#include "ropewalk/figures/parts/mean_layers.h"
#include "ropewalk/figures/parts/run_notes.h"
#include "ropewalk/figures/parts/theme.h"
#include "ropewalk/figures/parts/view_look.h"
#include "ropewalk/figures/series_figures.h"
#include "ropewalk/figures/training_lines.h"

namespace ropewalk {
namespace {

constexpr double kHeightOfLoss = 230;
constexpr double kHeightOfR2 = 190;
constexpr double kMargin = 1.04;  // of the largest loss, so that nothing lies on the frame
constexpr double kLine = 2.6;
constexpr size_t kLongestLabel = 40;  // characters in a sentence
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// Only checkpoints of the run: the loss of fresh weights depends on the vocabulary's size and is
// far above the others.
std::vector<MeanSeries> loss_series(const RunNumbers& run) {
  const auto number = [&run](const CheckpointNumbers& numbers) {
    const bool trained =
        std::any_of(run.checkpoints.begin(), run.checkpoints.end(),
                    [&](const CheckpointNumbers& one) { return &one == &numbers; });
    return trained ? numbers.loss : HeadMean{kNone, kNone, kNone};
  };
  return {{"loss", theme::kInk, "diamond", kLine, true, number, MeanSeries::kNoView,
           Limits{0, INFINITY}}};
}

// Round numbers from `low` to `high` at about equal distances on a logarithmic axis; where there
// are few such numbers, equal steps.
std::vector<double> round_ticks(double low, double high) {
  constexpr double kSteps[] = {0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001};
  constexpr size_t kEnough = 3;
  const std::vector<double> sets[] = {{1, 2, 5}, {1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8}};
  std::vector<double> ticks;
  for (const std::vector<double>& digits : sets) {
    ticks.clear();
    for (double power = 1e-3; power <= high; power *= 10) {
      for (const double digit : digits) {
        if (digit * power >= low && digit * power <= high) ticks.push_back(digit * power);
      }
    }
    if (ticks.size() >= kEnough) return ticks;
  }
  for (const double step : kSteps) {
    ticks.clear();
    for (double i = std::ceil(low / step - 1e-9); i * step <= high; ++i) ticks.push_back(i * step);
    if (ticks.size() >= kEnough) break;
  }
  return ticks;
}

// Means over heads, without a band: it would hide the relation to the loss.
std::vector<MeanSeries> r2_series(const RunNumbers& run) {
  struct Line {
    const char* key;
    const char* name;
    std::string_view color;
    const char* shape;
  };
  std::vector<MeanSeries> series;
  for (const Line& line : {Line{"r2cv_q", "R² of queries", theme::kQueries, "circle"},
                           Line{"r2cv_k", "R² of keys", theme::kKeys, "square"}}) {
    const size_t index = find_view(line.key);
    if (!has_numbers(run, index)) continue;
    const auto number = [index](const CheckpointNumbers& numbers) {
      HeadMean mean = numbers.views[index].over_heads;
      mean.sd = kNone;
      return mean;
    };
    series.push_back({line.name, line.color, line.shape, kLine, true, number, index,
                      value_limits(all_views()[index])});
  }
  return series;
}

// The lowest and the highest value that lines reach with their error bars.
std::pair<double, double> reach(const CheckpointAxis& axis, const std::vector<MeanSeries>& series) {
  double low = kNone, high = kNone;
  for (const Slot& slot : axis.slots()) {
    for (const MeanSeries& one : series) {
      const HeadMean number = one.number(*slot.numbers);
      const double se = std::isnan(number.se) ? 0 : number.se;
      low = std::fmin(low, number.mean - se);
      high = std::fmax(high, number.mean + se);
    }
  }
  return {low, high};
}

bool has_errors(const RunNumbers& run) {
  return std::any_of(run.checkpoints.begin(), run.checkpoints.end(),
                     [](const CheckpointNumbers& one) { return !std::isnan(one.loss.se); });
}

// Baselines are outside the axis, so a sentence states their loss.
std::string baselines_text(const RunNumbers& run) {
  std::string text;
  for (const CheckpointNumbers& one : run.baselines) {
    if (std::isnan(one.loss.mean)) continue;
    text += fmt::format("{} {:.2f} ({})", text.empty() ? "" : ",", one.loss.mean,
                        printable_excerpt(one.label, kLongestLabel));
  }
  return text.empty() ? "" : " Freshly initialised weights:" + text + ".";
}

std::string subtitle_of(const RunNumbers& run, const CheckpointAxis& axis, bool below) {
  std::string text = "Loss of the next token, nats per token";
  if (has_errors(run)) {
    text +=
        fmt::format("; {}: ±1 standard error over documents", error_marks(axis, theme::kPlotWidth));
  }
  text += ".";
  if (below) {
    text += fmt::format(" Below: how well queries and keys predict position, mean over {}{}.",
                        heads_text(run, {find_view("r2cv_q")}),
                        run.baselines.empty() ? "" : "; dotted: freshly initialised weights");
  }
  if (contexts_differ(run)) {
    text += " The loss depends on position, so losses at different contexts cannot be compared.";
  }
  if (run.models)
    text += " Losses of models can only be compared where these have the same tokens.";
  return text + baselines_text(run);
}

}  // namespace

bool has_losses(const RunNumbers& run) {
  return std::any_of(run.checkpoints.begin(), run.checkpoints.end(),
                     [](const CheckpointNumbers& one) { return !std::isnan(one.loss.mean); });
}

Json loss_figure(const RunNumbers& run, const FigureOptions& options) {
  const CheckpointAxis axis(run, options.time());
  const std::vector<MeanSeries> above = loss_series(run), below = r2_series(run);
  Json spec = theme::begin_figure(options.title, figure_title(run, "Loss, over training"),
                                  subtitle_of(run, axis, !below.empty()), theme::kPlotWidth);
  spec["params"] = axis.params();
  Json& datasets = spec["datasets"];
  Json views = Json::array();
  const auto add = [&](double height, const std::vector<MeanSeries>& series, MeanPlot plot) {
    Json view{{"width", theme::kPlotWidth}, {"height", height}};
    plot.width = theme::kPlotWidth;
    plot.legend = series.size() > 1;
    plot.below = !views.empty();
    if (plot.below) plot.dataset += " 2";
    add_mean_layers(view, datasets, axis, series, plot);
    views.push_back(view);
  };
  const auto [least, most] = reach(axis, above);
  const double low = std::max(least, 1e-3) / kMargin, high = std::max(most, 1e-3) * kMargin;
  add(kHeightOfLoss, above,
      {.y_title = "loss, nats per token",
       .low = low,
       .high = high,
       .tick = 0,
       .log_ticks = round_ticks(low, high)});
  if (!below.empty()) {
    const double least_r2 = std::min(reach(axis, below).first, 0.0);
    add(kHeightOfR2, below,
        {.y_title = "R², cross-validated", .low = std::floor(least_r2 * 20) / 20});
  }
  stack_plots(spec, std::move(views), 22);
  return spec;
}

}  // namespace ropewalk
