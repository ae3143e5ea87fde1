#include "ropewalk/figures/parts/mean_layers.h"

#include <algorithm>
#include <cmath>

#include "ropewalk/figures/parts/mean_channels.h"
#include "ropewalk/figures/parts/theme.h"

namespace ropewalk {
namespace {

constexpr double kMarkerSize = 62;  // square pixels
constexpr double kCapWidth = 13;    // width of the caps of standard-error bars
constexpr double kCrowdedMarker = 9, kCrowdedCap = 2;
// a run of one checkpoint has no line around which a band could be drawn
constexpr double kLoneBandWidth = 26;

Json mean_row(const Slot& slot, const MeanSeries& series, Band kind) {
  const HeadMean number = series.number(*slot.numbers);
  Json json{{"checkpoint", slot.numbers->label},
            {"phase", slot.numbers->phase},
            {"x", slot.along},
            {"series", series.name},
            {"mean", theme::number(number.mean)},
            {"sd", theme::number(number.sd)},
            {"se", theme::number(number.se)},
            {"baseline", slot.baseline},
            {"full", series.full}};
  if (series.view != MeanSeries::kNoView) {
    json["heads"] = heads_with(*slot.numbers, series.view);
  }
  if (series.full) {
    const BandEnds band = series.band(*slot.numbers, kind);
    json["band_low"] = theme::number(band.low);
    json["band_high"] = theme::number(band.high);
    const double bar = series.half_bar(*slot.numbers);
    json["se_low"] = theme::number(number.mean - bar);
    json["se_high"] = theme::number(number.mean + bar);
  }
  return json;
}

// Only lines along all checkpoints of a run can have a second band around them.
bool has_inner_bands(const CheckpointAxis& axis, double width) {
  return axis.crowded(width) && axis.lines().size() == 1;
}

class LayerBuilder {
 public:
  LayerBuilder(const CheckpointAxis& axis, const std::vector<MeanSeries>& series,
               const MeanPlot& plot)
      : axis_(axis), series_(series), plot_(plot), rows_(Json::array()), layers_(Json::array()) {
    for (const MeanSeries& one : series_) {
      for (const Slot& slot : axis_.slots()) {
        rows_.push_back(mean_row(slot, one, plot_.band));
        if (!slot.baseline) place_on_line(rows_.back(), slot.line);
      }
      for (size_t line = 0; line < axis_.lines().size(); ++line) {
        const Slot& first = axis_.slots()[axis_.lines()[line].front()];
        if (first.line == line) continue;
        rows_.push_back(mean_row(first, one, plot_.band));
        rows_.back()["joint"] = true;
        place_on_line(rows_.back(), line);
      }
    }
  }

  void build(Json& view, Json& datasets) {
    add_bands();
    if (!axis_.baseline_reaches().empty()) add_baseline_lines(datasets);
    if (banded_) add_inner_bands();
    for (const MeanSeries& one : series_) add_line(one);
    add_bars();
    add_markers();
    axis_.add_phase_layers(layers_, datasets, plot_.width, !plot_.below);
    datasets[plot_.dataset] = std::move(rows_);
    view["layer"] = std::move(layers_);
  }

 private:
  // Where there are several lines, adds to a row the index of its line, and whether the line has a
  // single checkpoint.
  void place_on_line(Json& row, size_t line) const {
    if (several_lines_) row["segment"] = line;
    if (some_alone_ && axis_.lines()[line].size() == 1) row["alone"] = true;
  }

  void add(const std::string& name, const std::string& filter, const Json& mark, Json encoding) {
    encoding["x"] = axis_.x_channel(plot_.width);
    if (several_lines_) encoding["detail"] = {{"field", "segment"}, {"type", "nominal"}};
    // Names of layers must differ in all of a figure.
    layers_.push_back({{"name", plot_.below ? name + plot_.layer_suffix : name},
                       {"data", {{"name", plot_.dataset}}},
                       {"transform", Json::array({Json{{"filter", filter}}})},
                       {"mark", mark},
                       {"encoding", std::move(encoding)}});
  }

  // A line with a single checkpoint has a bar instead of a band.
  void add_bands() {
    const std::string filter = "datum.full && !datum.baseline";
    const auto add_band = [&](const std::string& name, const std::string& which, bool bar) {
      Json mark{{"type", "area"}, {"opacity", 0.16}};
      Json low = channels_.y("band_low");
      if (bar) {
        mark = {
            {"type", "bar"}, {"opacity", 0.16}, {"size", kLoneBandWidth}, {"orient", "vertical"}};
        low["stack"] = nullptr;
      }
      add(name, filter + which, mark,
          {{"y", low}, {"y2", {{"field", "band_high"}}}, {"color", channels_.color()}});
    };
    add_band("bands", some_alone_ ? " && !datum.alone" : "", all_alone_);
    if (some_alone_) add_band("bands alone", " && datum.alone", true);
  }

  // Dotted lines: across the run, or along the checkpoints of the same context.
  void add_baseline_lines(Json& datasets) {
    Json rows = Json::array();
    for (const MeanSeries& one : series_) {
      for (const BaselineReach& reach : axis_.baseline_reaches()) {
        rows.push_back(mean_row(axis_.slots()[reach.slot], one, plot_.band));
        rows.back()["x"] = reach.from;
        rows.back()["x_end"] = reach.to;
      }
    }
    const std::string dataset =
        "baselines" + plot_.dataset.substr(std::string_view("means").size());
    datasets[dataset] = std::move(rows);
    add("baseline lines", "datum.full && datum.mean !== null",
        {{"type", "rule"}, {"strokeDash", {1.5, 4}}, {"strokeCap", "round"}, {"strokeWidth", 2}},
        {{"x2", {{"field", "x_end"}}}, {"y", channels_.y("mean")}, {"color", channels_.color()}});
    layers_.back()["data"]["name"] = dataset;
  }

  void add_line(const MeanSeries& one) {
    const std::string filter = "!datum.baseline && datum.series === " + Json(one.name).dump();
    const auto add_marks = [&](const std::string& name, const std::string& which, bool tick) {
      Json mark{{"type", "line"}, {"strokeWidth", one.line_width}, {"strokeJoin", "round"}};
      if (tick) {
        mark = {{"type", "tick"},
                {"orient", "horizontal"},
                {"size", kLoneBandWidth},
                {"thickness", one.line_width},
                {"opacity", 1}};
      }
      add(name, filter + which, mark,
          {{"y", channels_.y("mean")},
           {"color", channels_.color()},
           {"tooltip", channels_.tooltip()}});
    };
    add_marks("line " + one.name, "", all_alone_ && !one.full);
    if (some_alone_ && !one.full) add_marks("line " + one.name + " alone", " && datum.alone", true);
  }

  // Standard errors of checkpoints that are too close to each other for bars.
  void add_inner_bands() {
    add("inner bands", "datum.full && !datum.baseline && datum.se !== null",
        {{"type", "area"}, {"opacity", 0.35}},
        {{"y", channels_.y("se_low")},
         {"y2", {{"field", "se_high"}}},
         {"color", channels_.color()}});
  }

  // Caps are wider than the markers, which would otherwise hide short bars.
  void add_bars() {
    if (banded_ && !axis_.slots().front().baseline) return;
    const std::string there =
        std::string("datum.full && datum.se !== null") + (banded_ ? " && datum.baseline" : points_);
    add("bars", there, {{"type", "rule"}, {"strokeWidth", 1.6}},
        {{"y", channels_.y("se_low")},
         {"y2", {{"field", "se_high"}}},
         {"color", channels_.color()}});
    for (const char* end : {"se_low", "se_high"}) {
      add(std::string("caps ") + end, there,
          {{"type", "tick"},
           {"orient", "horizontal"},
           {"size", crowded_ && !banded_ ? kCrowdedCap : kCapWidth},
           {"thickness", 1.6},
           {"opacity", 1}},
          {{"y", channels_.y(end)}, {"color", channels_.color()}});
    }
  }

  // Filled in the run, hollow for baselines.
  void add_markers() {
    const Json encoding{{"y", channels_.y("mean")},
                        {"color", channels_.color()},
                        {"shape", channels_.shape()},
                        {"tooltip", channels_.tooltip()}};
    if (axis_.slots().front().baseline) {
      add("baseline markers", "datum.full && datum.baseline",
          {{"type", "point"},
           {"size", kMarkerSize},
           {"opacity", 1},
           {"fill", theme::kWhite},
           {"strokeWidth", 2}},
          encoding);
    }
    add("markers", "datum.full && !datum.baseline" + points_,
        {{"type", "point"},
         {"size", crowded_ ? kCrowdedMarker : kMarkerSize},
         {"opacity", 1},
         {"filled", true}},
        encoding);
  }

  size_t lines_alone() const {
    const auto& lines = axis_.lines();
    return static_cast<size_t>(std::count_if(lines.begin(), lines.end(),
                                             [](const auto& line) { return line.size() == 1; }));
  }

  const CheckpointAxis& axis_;
  const bool several_lines_ = axis_.lines().size() > 1;
  const bool all_alone_ = lines_alone() == axis_.lines().size();  // no line can be drawn
  const bool some_alone_ = !all_alone_ && lines_alone() > 0;
  // Excludes rows that only serve as the beginning of another line.
  const std::string points_ = several_lines_ ? " && !datum.joint" : "";
  const std::vector<MeanSeries>& series_;
  const MeanPlot& plot_;
  const MeanChannels channels_{axis_, series_, plot_};
  const bool crowded_ = axis_.crowded(plot_.width);
  const bool banded_ = has_inner_bands(axis_, plot_.width);
  Json rows_;
  Json layers_;
};

}  // namespace

bool mean_outside(const CheckpointAxis& axis, const std::vector<MeanSeries>& series, Band kind) {
  return std::any_of(series.begin(), series.end(), [&](const MeanSeries& one) {
    return one.full && std::any_of(axis.slots().begin(), axis.slots().end(), [&](const Slot& slot) {
             const double mean = one.number(*slot.numbers).mean;
             const BandEnds band = one.band(*slot.numbers, kind);
             return !slot.baseline && (mean < band.low || mean > band.high);
           });
  });
}

bool passes_limits(const CheckpointAxis& axis, const std::vector<MeanSeries>& series) {
  return std::any_of(series.begin(), series.end(), [&](const MeanSeries& one) {
    return one.full && std::any_of(axis.slots().begin(), axis.slots().end(), [&](const Slot& slot) {
             const HeadMean number = one.number(*slot.numbers);
             return !slot.baseline && (number.mean - number.sd < one.limits.low ||
                                       number.mean + number.sd > one.limits.high);
           });
  });
}

const char* error_marks(const CheckpointAxis& axis, double width) {
  return has_inner_bands(axis, width) ? "inner bands" : "bars";
}

void add_mean_layers(Json& view, Json& datasets, const CheckpointAxis& axis,
                     const std::vector<MeanSeries>& series, const MeanPlot& plot) {
  LayerBuilder(axis, series, plot).build(view, datasets);
}

void stack_plots(Json& spec, Json plots, int apart) {
  spec["vconcat"] = std::move(plots);
  spec["spacing"] = apart;
  spec["resolve"] = {
      {"scale", {{"color", "independent"}, {"shape", "independent"}, {"stroke", "independent"}}}};
}

}  // namespace ropewalk
