#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ropewalk/analysis/math/student_t.h"
#include "ropewalk/figures/ablate_figure.h"
#include "ropewalk/figures/parts/checkpoint_axis.h"
#include "ropewalk/figures/parts/mean_layers.h"
#include "ropewalk/figures/parts/text_width.h"
#include "ropewalk/figures/parts/theme.h"

namespace ropewalk {
namespace {

constexpr double kHeight = 170;
constexpr double kMargin = 0.06;  // of the y axis, so that nothing lies on the frame
constexpr double kLine = 2.2;
constexpr double kBelowTitle = 20;  // pixels, to the title of the first panel
constexpr std::string_view kGrey = "#8b949e";
constexpr const char* kSet = "the set, bars: 95 % over documents";
constexpr const char* kControls = "random sets, band: ±1 SD";

// A set under an edit: one panel.
struct Panel {
  std::string set;
  std::string edit;
};

std::vector<Panel> panels_of(const std::vector<Ablation>& checkpoints) {
  std::vector<Panel> panels;
  for (const Ablation& ablation : checkpoints) {
    for (const Ablation::EditedSet& one : ablation.cases) {
      const std::string& set = ablation.sets[one.set].chosen.name.text;
      const bool known = std::any_of(panels.begin(), panels.end(), [&](const Panel& panel) {
        return panel.set == set && panel.edit == one.edit.text;
      });
      if (!known) panels.push_back({set, one.edit.text});
    }
  }
  return panels;
}

// The run as figures over training lay it out.
RunNumbers run_of(const std::vector<Ablation>& checkpoints) {
  RunNumbers run;
  run.source = kAblateTable;
  for (const Ablation& ablation : checkpoints) {
    CheckpointNumbers numbers;
    numbers.label = ablation.label;
    numbers.phase = ablation.phase;
    numbers.context = ablation.context;
    numbers.step = ablation.step;
    numbers.tokens = ablation.trained_tokens;
    (ablation.random ? run.baselines : run.checkpoints).push_back(numbers);
    run.models = run.models || ablation.independent_model;
  }
  if (run.checkpoints.empty()) std::swap(run.checkpoints, run.baselines);
  return run;
}

// What a panel shows of a checkpoint; null: the checkpoint has no head of the set.
const EditEffect* find_effect(const std::vector<Ablation>& checkpoints, const Panel& panel,
                              const std::string& label) {
  for (const Ablation& ablation : checkpoints) {
    if (ablation.label != label) continue;
    for (const Ablation::EditedSet& one : ablation.cases) {
      if (ablation.sets[one.set].chosen.name.text == panel.set && one.edit.text == panel.edit) {
        return &one.effects.front();
      }
    }
  }
  return nullptr;
}

std::vector<MeanSeries> series_of(const std::vector<Ablation>& checkpoints, const Panel& panel) {
  const auto effect = [&checkpoints, panel](const CheckpointNumbers& numbers) {
    const EditEffect* found = find_effect(checkpoints, panel, numbers.label);
    return found == nullptr ? EditEffect{} : *found;
  };
  MeanSeries controls{kControls, kGrey, "square", kLine, true, {}, MeanSeries::kNoView};
  controls.number = [effect](const CheckpointNumbers& numbers) {
    const EditEffect one = effect(numbers);
    return HeadMean{one.control, one.control_sd, kUnknown};
  };
  MeanSeries set{kSet, theme::kBoth, "diamond", kLine, true, {}, MeanSeries::kNoView};
  set.number = [effect](const CheckpointNumbers& numbers) {
    const EditEffect one = effect(numbers);
    return HeadMean{one.dloss, kUnknown, one.dloss_se};
  };
  set.bar = [effect](const CheckpointNumbers& numbers) {
    const EditEffect one = effect(numbers);
    if (std::isnan(one.dloss_se)) return kUnknown;
    return student_t_95(static_cast<double>(one.groups) - 1) * one.dloss_se;
  };
  return {set, controls};
}

// Limits that hold bands and bars of all checkpoints, and 0.
void fit(MeanPlot& plot, const CheckpointAxis& axis, const std::vector<MeanSeries>& series) {
  double low = 0, high = 0;
  for (const Slot& slot : axis.slots()) {
    for (const MeanSeries& one : series) {
      const HeadMean number = one.number(*slot.numbers);
      const BandEnds band =
          slot.baseline ? BandEnds{number.mean, number.mean} : one.band(*slot.numbers, Band::sd);
      const double bar = one.half_bar(*slot.numbers);
      for (const double end :
           {number.mean, number.mean - bar, number.mean + bar, band.low, band.high}) {
        low = std::fmin(low, end);
        high = std::fmax(high, end);
      }
    }
  }
  const double margin = high > low ? kMargin * (high - low) : 1;
  plot.low = low - margin;
  plot.high = high + margin;
}

Json panel_title(const Panel& panel) {
  return {{"text", theme::title(panel.edit)},
          {"subtitle", fit_middle(panel.set, theme::kSubtitleSize, theme::kPlotWidth)},
          {"anchor", "start"},
          {"frame", "group"},
          {"fontSize", theme::kLabelSize},
          {"fontWeight", "bold"},
          {"offset", 10}};
}

Json zero_line(const std::string& name) {
  Json line{{"name", name},
            {"data", {{"values", Json::array({Json::object()})}}},
            {"mark", {{"type", "rule"}, {"color", theme::kSeparator}, {"strokeDash", {3, 3}}}}};
  line["encoding"]["y"]["datum"] = 0;
  return line;
}

std::string subtitle_of(const RunNumbers& run) {
  std::string text =
      "Change of the loss when something is taken from a set of heads, beside the same in random "
      "sets of as many heads in the same layers. Each checkpoint chooses its own heads.";
  return text + (run.baselines.empty() ? "" : " Dotted: freshly initialised weights.");
}

}  // namespace

Json ablate_training_figure(const std::string& title, const std::vector<Ablation>& checkpoints,
                            TimeAxis time) {
  const RunNumbers run = run_of(checkpoints);
  const CheckpointAxis axis(run, time);
  Json spec = theme::begin_figure(
      title, figure_title(run, "What the model needs of its heads, over training"),
      subtitle_of(run), theme::kPlotWidth);
  spec["title"]["offset"] = kBelowTitle;
  spec["params"] = axis.params();
  Json& datasets = spec["datasets"];
  Json views = Json::array();
  for (const Panel& panel : panels_of(checkpoints)) {
    const size_t number = views.size() + 1;
    Json view{{"width", theme::kPlotWidth}, {"height", kHeight}, {"title", panel_title(panel)}};
    MeanPlot plot{.y_title = "nats per token", .tick = 0, .width = theme::kPlotWidth};
    plot.below = number > 1;
    plot.layer_suffix = fmt::format(" {}", number);
    plot.dataset = fmt::format("means {}", number);
    plot.legend = number == 1;
    const std::vector<MeanSeries> series = series_of(checkpoints, panel);
    fit(plot, axis, series);
    add_mean_layers(view, datasets, axis, series, plot);
    view["layer"].push_back(zero_line("zero" + plot.layer_suffix));
    views.push_back(view);
  }
  stack_plots(spec, std::move(views), 26);
  return spec;
}

}  // namespace ropewalk
