#include "ropewalk/analysis/run/run_numbers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "ropewalk/analysis/run/class_shares.h"
#include "ropewalk/analysis/run/context_label.h"
#include "ropewalk/analysis/run/series_summary.h"
#include "ropewalk/analysis/statistics/series.h"
#include "ropewalk/base/error.h"
#include "ropewalk/base/printable.h"

namespace ropewalk {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t kLargestLayer = 1000000;
constexpr double kAgreement = 1e-6;  // the table has 9 significant digits

// The mean of each component over the heads of a group.
std::vector<double> component_means(const HeadGroup& group, const IndexedView& view) {
  const CheckpointTable& checkpoint = *group.checkpoint;
  std::set<std::pair<int64_t, int64_t>> counted;
  for (const size_t row : group.rows)
    counted.emplace(checkpoint.layer[row], checkpoint.q_head[row]);
  std::map<int64_t, std::vector<double>> components;
  for (size_t row = 0; row < checkpoint.rows(); ++row) {
    const double value = checkpoint.columns[view.index].value[row];
    if (!std::isnan(value) && counted.contains({checkpoint.layer[row], checkpoint.q_head[row]})) {
      components[checkpoint.pc[row]].push_back(value);
    }
  }
  std::vector<double> means;
  // Stops at the first component that no head has: a stack cannot have a gap.
  for (int64_t pc = 0; components.contains(pc); ++pc) {
    means.push_back(over_heads(Aggregate::mean, components[pc]));
  }
  return means;
}

// The rows of a group, by layer, then head.
std::vector<size_t> sorted_rows(const HeadGroup& group) {
  const CheckpointTable& checkpoint = *group.checkpoint;
  std::vector<size_t> rows = group.rows;
  std::sort(rows.begin(), rows.end(), [&](size_t a, size_t b) {
    return std::pair(checkpoint.layer[a], checkpoint.q_head[a]) <
           std::pair(checkpoint.layer[b], checkpoint.q_head[b]);
  });
  return rows;
}

std::vector<HeadPoint> head_points(const CheckpointTable& checkpoint,
                                   const std::vector<size_t>& rows) {
  std::vector<HeadPoint> heads;
  for (const size_t row : rows) {
    const int64_t rope = checkpoint.rope[row];
    heads.push_back({checkpoint.layer[row], checkpoint.q_head[row],
                     rope == CheckpointTable::kUnknown ? std::nullopt : std::optional(rope == 1),
                     *class_of(checkpoint, row)});
  }
  return heads;
}

// Adds the means over heads, with the errors that a summary states. Returns false where the summary
// states other means.
bool add_series(CheckpointNumbers& numbers, const CheckpointTable& checkpoint,
                const Json& summary) {
  bool agrees = true;
  for (size_t i = 0; i < checkpoint.series.size(); ++i) {
    const int64_t rope = series()[i]->table == SeriesTable::bands ? 1 : SeriesMean::kAll;
    std::vector<SeriesNumbers>& of = numbers.series.emplace_back();
    std::vector<SeriesMean> means = checkpoint.series[i].means;
    agrees = fill_series_errors(means, i, checkpoint, summary) && agrees;
    for (const SeriesMean& mean : means) {
      if (mean.rope != rope || mean.heads.empty()) continue;
      const int64_t heads = *std::max_element(mean.heads.begin(), mean.heads.end());
      const SeriesGrid& grid = checkpoint.grids[mean.grid];
      of.push_back({grid.drawn(), mean.value, mean.se, heads, grid.x, grid.end});
    }
  }
  return agrees;
}

CheckpointNumbers checkpoint_numbers(const CheckpointTable& checkpoint, int64_t last_layer) {
  CheckpointNumbers numbers;
  numbers.label = checkpoint.label;
  numbers.phase = checkpoint.phase;
  numbers.step = checkpoint.step;
  numbers.tokens = checkpoint.tokens;
  numbers.last_layer = last_layer;
  if (!checkpoint.loss.empty()) {
    numbers.loss = {checkpoint.loss.front().loss, kMissing, checkpoint.loss.front().se};
  }
  const HeadGroup all = whole_group(checkpoint);
  numbers.undefined = all.undefined;
  const std::vector<size_t> rows = sorted_rows(all);
  numbers.heads = head_points(checkpoint, rows);
  std::vector<HeadGroup> depth;
  for (int bin = 0; bin < kDepthBins; ++bin) {
    depth.push_back(depth_group(checkpoint, bin, last_layer));
    numbers.depth_heads[static_cast<size_t>(bin)] = static_cast<int64_t>(depth.back().rows.size());
  }
  for (const IndexedView& view : all_views()) {
    ViewNumbers& of = numbers.views.emplace_back();
    const std::vector<double> values = values_of(all, view);
    of.over_heads = {over_heads(Aggregate::mean, values), over_heads(Aggregate::spread, values),
                     kMissing};
    for (size_t bin = 0; bin < kDepthBins; ++bin) {
      of.depth[bin] = {over_heads(Aggregate::mean, values_of(depth[bin], view)), kMissing};
    }
    if (view.statistic->shares) of.components = component_means(all, view);
    const HeadColumn& column = checkpoint.columns[view.index];
    for (const size_t row : rows) {
      of.heads.push_back(view.view->absolute ? std::abs(column.value[row]) : column.value[row]);
    }
  }
  for (size_t i = 0; i < kRoles.size(); ++i) numbers.roles[i] = role_numbers(kRoles[i], checkpoint);
  numbers.place = role_numbers(kPlaceRole, checkpoint);
  const std::vector<int64_t> counts = class_counts(all);
  for (size_t i = 0; i < counts.size(); ++i) {
    const double share = static_cast<double>(counts[i]) / static_cast<double>(all.rows.size());
    numbers.classes[i] = {counts[i], all.rows.empty() ? kMissing : share, kMissing};
  }
  return numbers;
}

// Standard errors of one checkpoint in a summary.json.
class SummaryReader {
 public:
  SummaryReader(const Json& summary, const std::string& source, const std::string& label)
      : summary_(summary), source_(source), label_(label) {}

  // The entry under a key of the summary, or null.
  const Json& under(const std::string& key) const {
    static const Json kNothing;
    const auto group = summary_.find(key);
    if (group == summary_.end() || !group->is_object()) return kNothing;
    const auto found = group->find(label_);
    return found == group->end() ? kNothing : *found;
  }

  // The standard error in an entry {value, se}, whose value must be the table's.
  double error_of(const Json& leaf, double value, const std::string& key) const {
    if (!leaf.is_object()) return kMissing;
    const double stated = number(leaf, "value");
    const bool agrees = std::isnan(stated) == std::isnan(value) &&
                        (std::isnan(value) ||
                         std::abs(stated - value) <= kAgreement * std::max(1.0, std::abs(value)));
    if (!agrees) {
      throw InputError(
          "{}: {} of '{}' is {:.6f}, but the table gives {:.6f}; the summary belongs to another "
          "table",
          source_, key, printable(label_), stated, value);
    }
    return number(leaf, "se");
  }

  double error_under(const std::string& key, double value) const {
    return error_of(under(key), value, key);
  }

  // A number from 0 to `most` in the summary's entry for this checkpoint.
  std::optional<int64_t> stated(const char* key, int64_t most) const {
    const auto list = summary_.find("checkpoints");
    if (list == summary_.end() || !list->is_array()) return std::nullopt;
    for (const Json& entry : *list) {
      if (!entry.is_object() || entry.value("label", Json()) != Json(label_)) continue;
      const auto found = entry.find(key);
      if (found == entry.end() || !found->is_number_integer()) continue;
      if (*found < 0 || *found > most) {
        throw InputError("{}: {} of '{}' is {}; expected 0 to {}", source_, key, printable(label_),
                         found->dump(), most);
      }
      return found->get<int64_t>();
    }
    return std::nullopt;
  }

 private:
  static double number(const Json& leaf, const char* key) {
    const auto found = leaf.find(key);
    return found != leaf.end() && found->is_number() ? found->get<double>() : kMissing;
  }

  const Json& summary_;
  const std::string& source_;
  const std::string& label_;
};

void add_errors(CheckpointNumbers& numbers, const SummaryReader& summary) {
  const std::vector<IndexedView> views = all_views();
  for (size_t i = 0; i < views.size(); ++i) {
    const StatisticView& view = *views[i].view;
    ViewNumbers& of = numbers.views[i];
    // without heads.csv, all of these are missing
    if (views[i].statistic->table == Table::heads && std::isnan(of.over_heads.mean)) continue;
    if (!view.mean.empty()) {
      of.over_heads.se = summary.error_under(view.mean, of.over_heads.mean);
    }
    const Json& cells = summary.under(view.depth);
    for (size_t bin = 0; cells.is_array() && bin < std::min<size_t>(kDepthBins, cells.size());
         ++bin) {
      of.depth[bin].se = summary.error_of(cells[bin], of.depth[bin].value, view.depth);
    }
  }
  if (const Json& classes = summary.under("taxonomy"); classes.is_object()) {
    for (size_t i = 0; i < kHeadClasses.size(); ++i) {
      const auto leaf = classes.find(std::string(class_name(kHeadClasses[i])));
      if (leaf == classes.end()) continue;
      numbers.classes[i].se = summary.error_of(*leaf, numbers.classes[i].share, "taxonomy");
    }
  }
}

bool any_errors(const CheckpointNumbers& numbers) {
  return std::any_of(numbers.views.begin(), numbers.views.end(),
                     [](const ViewNumbers& of) { return !std::isnan(of.over_heads.se); });
}

// The table must contain the checkpoints that the summary lists.
void check_labels(const RunTable& table, const Json& summary, const std::string& source) {
  const auto list = summary.find("checkpoints");
  if (list == summary.end() || !list->is_array()) return;
  std::set<std::string> labels;
  for (const CheckpointTable& checkpoint : table.checkpoints) labels.insert(checkpoint.label);
  for (const Json& entry : *list) {
    const Json label = entry.is_object() ? entry.value("label", Json()) : Json();
    if (!label.is_string() || labels.contains(label.get<std::string>())) continue;
    throw InputError(
        "{}: has the checkpoint '{}', but the table does not; the summary belongs to another table",
        source, printable_excerpt(label.get<std::string>(), 60));
  }
}

void require_heads(const RunNumbers& run) {
  int64_t undefined = 0;
  for (const auto* group : {&run.checkpoints, &run.baselines}) {
    for (const CheckpointNumbers& numbers : *group) {
      if (!numbers.heads.empty()) return;
      undefined += numbers.undefined;
    }
  }
  if (undefined == 0) {
    throw InputError("{}: has no row of PC0 (pc 0), from which all numbers are taken", run.source);
  }
  throw InputError("{}: none of its {} rows of PC0 has both r_q and r_k", run.source, undefined);
}

}  // namespace

RunNumbers run_numbers(const RunTable& table, const Json& summary,
                       const std::string& summary_source) {
  RunNumbers run;
  run.source = table.source;
  if (!summary.is_null() && !summary.is_object()) {
    throw InputError("{}: expected a JSON object, as analyze writes it", summary_source);
  }
  if (summary.is_object()) check_labels(table, summary, summary_source);
  const CheckpointTable& first = table.checkpoints.front();
  const bool one_model =
      std::all_of(table.checkpoints.begin(), table.checkpoints.end(),
                  [&](const CheckpointTable& c) { return c.model == first.model; });
  if (one_model && first.model != first.label) run.model = first.model;
  run.models = first.independent_model && table.checkpoints.size() > 1;

  for (const CheckpointTable& checkpoint : table.checkpoints) {
    const SummaryReader reader(summary, summary_source, checkpoint.label);
    const auto stated = [&](const char* key, int64_t most) {
      return summary.is_object() ? reader.stated(key, most).value_or(0) : 0;
    };
    CheckpointNumbers numbers = checkpoint_numbers(
        checkpoint, std::max(checkpoint.last_layer, stated("last_layer", kLargestLayer)));
    numbers.context = stated("context", INT32_MAX);
    if (numbers.context == 0) numbers.context = split_label(checkpoint.label).context;
    if (!add_series(numbers, checkpoint, summary) && run.other_series.empty()) {
      run.other_series = checkpoint.label;
    }
    if (summary.is_object()) {
      add_errors(numbers, reader);
      run.standard_errors = run.standard_errors || any_errors(numbers);
    }
    (checkpoint.random ? run.baselines : run.checkpoints).push_back(std::move(numbers));
  }
  // Where a table has only baselines, they are the run.
  if (run.checkpoints.empty()) std::swap(run.checkpoints, run.baselines);
  require_heads(run);
  return run;
}

}  // namespace ropewalk
