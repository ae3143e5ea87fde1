#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "ropewalk/analysis/replicates/distance_flags.h"
#include "ropewalk/analysis/statistics/series.h"
#include "ropewalk/figures/parts/distance_panel.h"
#include "ropewalk/figures/parts/run_notes.h"
#include "ropewalk/figures/series_figures.h"

namespace ropewalk {
namespace {

constexpr double kPanelWidth = 300;
constexpr double kPanelHeight = 200;
constexpr double kGap = 30;
constexpr size_t kColumns = 2;
constexpr double kLightest = 0.42;  // of the ramp: the first checkpoint still stands out on white

const CheckpointTable* find_checkpoint(const RunTable& table, const std::string& label) {
  const auto found = std::find_if(table.checkpoints.begin(), table.checkpoints.end(),
                                  [&](const CheckpointTable& one) { return one.label == label; });
  return found == table.checkpoints.end() ? nullptr : &*found;
}

struct HeadIndex {
  size_t row = 0;     // of the table
  size_t number = 0;  // among the checkpoint's heads
};
std::optional<HeadIndex> find_head(const CheckpointTable& checkpoint, const QueryHead& head) {
  const std::vector<size_t> rows = checkpoint.head_rows();
  for (size_t i = 0; i < rows.size(); ++i) {
    if (checkpoint.layer[rows[i]] == head.layer && checkpoint.q_head[rows[i]] == head.q_head) {
      return HeadIndex{rows[i], i};
    }
  }
  return std::nullopt;
}

// Its curves at a checkpoint; the numbers stay in the table.
std::vector<DistanceLine> lines_of(const CheckpointTable& checkpoint, const QueryHead& head,
                                   const std::string& name, const std::string& color) {
  std::vector<DistanceLine> lines;
  const std::optional<HeadIndex> found = find_head(checkpoint, head);
  if (!found) return lines;
  for (const DistanceCurve& curve : kDistanceCurves) {
    const size_t index = series_index(curve.key);
    const SeriesGrid& points = series_points(checkpoint, index, found->number);
    if (points.x.empty()) continue;
    const HeadSeries& numbers = checkpoint.series[index];
    lines.push_back({&curve, name, color.empty() ? std::string(curve.color) : color, points.drawn(),
                     numbers.values(found->number), numbers.errors(found->number), points.x,
                     points.end});
  }
  return lines;
}

// Whether nothing in the head's logits depends on distance; of tables without flags, nobody knows.
bool same_at_every_distance(const CheckpointTable& checkpoint, size_t row) {
  return row < checkpoint.head_flag.size() && holds_flag(checkpoint.head_flag[row], kNoDistance);
}

// What the table says of the head beside its number: nothing where models differ in it.
std::string about(const std::vector<const CheckpointTable*>& drawn, const QueryHead& head) {
  std::optional<int64_t> rope;
  bool constant = true;  // a bias of distance needs no RoPE
  for (const CheckpointTable* checkpoint : drawn) {
    const std::optional<HeadIndex> found = find_head(*checkpoint, head);
    if (!found) continue;
    const int64_t here = checkpoint->rope[found->row];
    if (rope.value_or(here) != here) return "";
    rope = here;
    constant = constant && same_at_every_distance(*checkpoint, found->row);
  }
  if (rope == 0) return constant ? "no RoPE: predicted the same at every distance" : "no RoPE";
  return rope == 1 ? "RoPE" : "";
}

// What the colours are, or of what the curves are.
std::string colors_text(const std::vector<const CheckpointNumbers*>& chosen, bool models) {
  if (chosen.size() == 1) return fmt::format("{} {}. ", models ? "Of" : "At", chosen[0]->label);
  if (chosen.empty()) return "";
  return models ? "Colours: models. " : "Colours: checkpoints, the later the darker. ";
}

}  // namespace

bool has_head(const RunTable& table, const QueryHead& head) {
  return std::any_of(table.checkpoints.begin(), table.checkpoints.end(),
                     [&](const CheckpointTable& one) { return find_head(one, head).has_value(); });
}

bool has_distances(const RunTable& table, const QueryHead& head) {
  return std::any_of(
      table.checkpoints.begin(), table.checkpoints.end(),
      [&](const CheckpointTable& one) { return !lines_of(one, head, "", "").empty(); });
}

Json head_distance_figure(const RunTable& table, const RunNumbers& run,
                          const FigureOptions& options) {
  const auto chosen = portrait_checkpoints(run, options);
  const std::vector<QueryHead>& heads = options.asked.distance;
  // Colours tell checkpoints or models apart, the later the darker; of a single one, the curves.
  const bool several = chosen.size() > 1;
  const double width = kColumns * kPanelWidth + (kColumns - 1) * kGap;
  std::vector<std::string> names;
  for (const CheckpointNumbers* one : chosen) {
    const std::string mark = context_mark(run, *one);
    names.push_back(one->label + (mark.empty() ? "" : " " + mark));
  }
  DistanceColors colors = curve_colors(width);
  if (several) {
    colors = {"checkpoint", {}, {}, width};
    for (size_t i = 0; i < chosen.size(); ++i) {
      const double part = static_cast<double>(i) / static_cast<double>(chosen.size() - 1);
      colors.names.push_back(names[i]);
      colors.colors.push_back(
          theme::ramp_color(theme::kPurples, kLightest + part * (1 - kLightest)));
    }
  }
  Json datasets = Json::object(), views = Json::array();
  DistanceSpan all;
  const size_t columns = std::min(kColumns, heads.size());
  for (size_t i = 0; i < heads.size(); ++i) {
    std::vector<DistanceLine> lines;
    std::vector<const CheckpointTable*> drawn;
    for (size_t c = 0; c < chosen.size(); ++c) {
      const CheckpointTable* checkpoint = find_checkpoint(table, chosen[c]->label);
      if (checkpoint == nullptr) continue;
      drawn.push_back(checkpoint);
      const auto found = lines_of(*checkpoint, heads[i], names[c], several ? colors.colors[c] : "");
      lines.insert(lines.end(), found.begin(), found.end());
    }
    DistanceSpan span;  // heads differ by more than any of them changes
    datasets[fmt::format("curves {}", i)] = distance_rows(lines, span);
    all.errors = all.errors || span.errors;
    all.windows = all.windows || span.windows;
    const std::string name = fmt::format("layer {}, head {}", heads[i].layer, heads[i].q_head);
    views.push_back(distance_panel({i, name, about(drawn, heads[i]), kPanelWidth, kPanelHeight,
                                    i + columns >= heads.size(), true, i % columns == 0},
                                   span, colors));
  }
  Json spec = theme::begin_figure(options.title, "Logits by distance of single heads",
                                  colors_text(chosen, run.models) + distance_words(all), width);
  add_panels(spec, std::move(datasets), std::move(views), kColumns, kGap);
  return spec;
}

}  // namespace ropewalk
