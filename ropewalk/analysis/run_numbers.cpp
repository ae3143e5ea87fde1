#include "ropewalk/analysis/run_numbers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "ropewalk/analysis/resampling.h"
#include "ropewalk/base/error.h"
#include "ropewalk/base/printable.h"

namespace ropewalk {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
constexpr double kAgreement = 1e-6;  // the table has 9 significant digits

double mean(const std::vector<double>& values) {
  if (values.empty()) return kMissing;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

HeadMean over_heads(const std::vector<double>& values) {
  return {mean(values), standard_deviation(values), kMissing};
}

// Mean explained variance of each component, over the heads that count.
std::vector<double> spectrum(const QkCheckpoint& checkpoint, const std::vector<HeadPoint>& heads) {
  std::set<std::pair<int64_t, int64_t>> counted;
  for (const HeadPoint& head : heads) counted.emplace(head.layer, head.q_head);
  std::map<int64_t, std::vector<double>> components;
  for (const QkRow& row : checkpoint.rows) {
    if (!std::isnan(row.explained_variance) && counted.contains({row.layer, row.q_head})) {
      components[row.pc].push_back(row.explained_variance);
    }
  }
  std::vector<double> means;
  // Up to the first component that nobody has: a gap cannot be stacked.
  for (int64_t pc = 0; components.contains(pc); ++pc) means.push_back(mean(components[pc]));
  return means;
}

CheckpointNumbers checkpoint_numbers(const QkCheckpoint& checkpoint, int64_t last_layer) {
  CheckpointNumbers numbers;
  numbers.label = checkpoint.label;
  numbers.phase = checkpoint.phase;
  numbers.last_layer = last_layer;
  std::vector<double> r_q, r_k, abs_r_k, explained_variance;
  std::array<std::vector<double>, kDepthBins> depth_r_q, depth_r_k;
  for (const QkRow& row : checkpoint.rows) {
    if (row.pc != 0) continue;
    if (std::isnan(row.r_q) || std::isnan(row.r_k)) {
      ++numbers.undefined;
      continue;
    }
    const HeadClass head_class = classify(row.r_q, row.r_k);
    numbers.heads.push_back({row.layer, row.q_head, row.r_q, row.r_k, row.rope, head_class});
    ++numbers.classes[static_cast<size_t>(head_class)].heads;
    r_q.push_back(row.r_q);
    r_k.push_back(row.r_k);
    abs_r_k.push_back(std::abs(row.r_k));
    if (!std::isnan(row.explained_variance)) explained_variance.push_back(row.explained_variance);
    const auto bin = static_cast<size_t>(depth_bin(row.layer, last_layer));
    depth_r_q[bin].push_back(row.r_q);
    depth_r_k[bin].push_back(row.r_k);
  }
  std::sort(numbers.heads.begin(), numbers.heads.end(), [](const auto& a, const auto& b) {
    return std::pair(a.layer, a.q_head) < std::pair(b.layer, b.q_head);
  });
  numbers.r_q = over_heads(r_q);
  numbers.r_k = over_heads(r_k);
  numbers.abs_r_k = over_heads(abs_r_k);
  numbers.explained_variance = over_heads(explained_variance);
  numbers.spectrum = spectrum(checkpoint, numbers.heads);
  for (ClassShare& share : numbers.classes) {
    share.share = numbers.heads.empty() ? kMissing
                                        : static_cast<double>(share.heads) /
                                              static_cast<double>(numbers.heads.size());
    share.se = kMissing;
  }
  for (size_t bin = 0; bin < kDepthBins; ++bin) {
    numbers.depth[bin] = {static_cast<int64_t>(depth_r_q[bin].size()), mean(depth_r_q[bin]),
                          mean(depth_r_k[bin]), kMissing, kMissing};
  }
  return numbers;
}

// Standard errors of one checkpoint in a summary.json.
class SummaryReader {
 public:
  SummaryReader(const Json& summary, const std::string& source, const std::string& label)
      : summary_(summary), source_(source), label_(label) {}

  // The leaf under a key of the summary, or null.
  const Json& under(const char* key) const {
    static const Json kNothing;
    const auto group = summary_.find(key);
    if (group == summary_.end() || !group->is_object()) return kNothing;
    const auto found = group->find(label_);
    return found == group->end() ? kNothing : *found;
  }

  // The standard error in a leaf {value, se} whose value must be the table's.
  double error_of(const Json& leaf, double value, const char* key) const {
    if (!leaf.is_object()) return kMissing;
    const double stated = number(leaf, "value");
    const bool agrees = std::isnan(stated) == std::isnan(value) &&
                        (std::isnan(value) || std::abs(stated - value) <= kAgreement);
    if (!agrees) {
      throw InputError(
          "{}: {} of '{}' is {:.6f}, but the table gives {:.6f}; the summary belongs to another "
          "table",
          source_, key, printable(label_), stated, value);
    }
    return number(leaf, "se");
  }

  double error_under(const char* key, double value) const {
    return error_of(under(key), value, key);
  }

  std::optional<int64_t> last_layer() const {
    const auto list = summary_.find("checkpoints");
    if (list == summary_.end() || !list->is_array()) return std::nullopt;
    for (const Json& entry : *list) {
      if (!entry.is_object() || entry.value("label", Json()) != Json(label_)) continue;
      const auto found = entry.find("last_layer");
      if (found != entry.end() && found->is_number_integer()) return found->get<int64_t>();
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
  numbers.r_q.se = summary.error_under("mean_r_q", numbers.r_q.mean);
  numbers.r_k.se = summary.error_under("mean_r_k", numbers.r_k.mean);
  numbers.abs_r_k.se = summary.error_under("mean_abs_r_k", numbers.abs_r_k.mean);
  numbers.explained_variance.se =
      summary.error_under("pc0_explained_variance", numbers.explained_variance.mean);
  if (const Json& classes = summary.under("taxonomy"); classes.is_object()) {
    for (size_t i = 0; i < kHeadClasses.size(); ++i) {
      const auto leaf = classes.find(std::string(class_name(kHeadClasses[i])));
      if (leaf == classes.end()) continue;
      numbers.classes[i].se = summary.error_of(*leaf, numbers.classes[i].share, "taxonomy");
    }
  }
  const Json& r_q = summary.under("depth_r_q");
  const Json& r_k = summary.under("depth_r_k");
  for (size_t bin = 0; bin < kDepthBins; ++bin) {
    DepthCell& cell = numbers.depth[bin];
    if (r_q.is_array() && bin < r_q.size()) {
      cell.r_q_se = summary.error_of(r_q[bin], cell.r_q, "depth_r_q");
    }
    if (r_k.is_array() && bin < r_k.size()) {
      cell.r_k_se = summary.error_of(r_k[bin], cell.r_k, "depth_r_k");
    }
  }
}

// A summary lists its checkpoints: the table must have them.
void check_labels(const QkTable& table, const Json& summary, const std::string& source) {
  const auto list = summary.find("checkpoints");
  if (list == summary.end() || !list->is_array()) return;
  std::set<std::string> labels;
  for (const QkCheckpoint& checkpoint : table.checkpoints) labels.insert(checkpoint.label);
  for (const Json& entry : *list) {
    const Json label = entry.is_object() ? entry.value("label", Json()) : Json();
    if (!label.is_string() || labels.contains(label.get<std::string>())) continue;
    throw InputError(
        "{}: has a checkpoint '{}', which the table lacks; the summary belongs to another table",
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
    throw InputError("{}: has no row of PC0 (pc 0), of which all numbers are taken", run.source);
  }
  throw InputError("{}: none of its {} rows of PC0 has both r_q and r_k", run.source, undefined);
}

}  // namespace

RunNumbers run_numbers(const QkTable& table, const Json& summary,
                       const std::string& summary_source) {
  RunNumbers run;
  run.source = table.source;
  if (!summary.is_null() && !summary.is_object()) {
    throw InputError("{}: expected a JSON object, as analyze writes it", summary_source);
  }
  if (summary.is_object()) check_labels(table, summary, summary_source);
  // The highest layer seen of each model stands for its last one.
  std::map<std::string, int64_t> last_layers;
  for (const QkCheckpoint& checkpoint : table.checkpoints) {
    int64_t& last = last_layers[checkpoint.model];
    for (const QkRow& row : checkpoint.rows) last = std::max(last, row.layer);
  }
  const std::string& model = table.checkpoints.front().model;
  if (last_layers.size() == 1 && model != table.checkpoints.front().label) run.model = model;

  for (const QkCheckpoint& checkpoint : table.checkpoints) {
    int64_t last_layer = last_layers[checkpoint.model];
    if (summary.is_object()) {
      const SummaryReader reader(summary, summary_source, checkpoint.label);
      last_layer = std::max(last_layer, reader.last_layer().value_or(0));
      CheckpointNumbers numbers = checkpoint_numbers(checkpoint, last_layer);
      add_errors(numbers, reader);
      run.standard_errors = run.standard_errors || !std::isnan(numbers.r_q.se);
      (checkpoint.baseline ? run.baselines : run.checkpoints).push_back(std::move(numbers));
    } else {
      (checkpoint.baseline ? run.baselines : run.checkpoints)
          .push_back(checkpoint_numbers(checkpoint, last_layer));
    }
  }
  // A table of baselines alone is a run of its own.
  if (run.checkpoints.empty()) std::swap(run.checkpoints, run.baselines);
  require_heads(run);
  return run;
}

}  // namespace ropewalk
