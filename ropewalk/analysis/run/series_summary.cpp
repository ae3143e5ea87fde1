#include "ropewalk/analysis/run/series_summary.h"

#include <algorithm>
#include <cmath>

#include "ropewalk/analysis/statistics/series.h"

namespace ropewalk {
namespace {

constexpr double kAgreement = 1e-6;  // tables have 9 significant digits

Json list_of(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(std::isnan(value) ? Json() : Json(value));
  return list;
}

Json describe(const SeriesMean& mean) {
  return {{"value", list_of(mean.value)}, {"se", list_of(mean.se)}, {"heads", mean.heads}};
}

// Heads whose points differ, as in layers with sliding attention, have a mean of their own. Returns
// the mean that is taken over the most heads; null where there is none.
const SeriesMean* mean_over_most_heads(const std::vector<SeriesMean>& means, int64_t rope) {
  const auto heads = [](const SeriesMean& mean) {
    return mean.heads.empty() ? 0 : *std::max_element(mean.heads.begin(), mean.heads.end());
  };
  const SeriesMean* widest = nullptr;
  for (const SeriesMean& mean : means) {
    if (mean.rope == rope && (widest == nullptr || heads(mean) > heads(*widest))) widest = &mean;
  }
  return widest;
}

const Json& member(const Json& json, const std::string& key) {
  static const Json kNothing;
  if (!json.is_object()) return kNothing;
  const auto found = json.find(key);
  return found == json.end() ? kNothing : *found;
}

// Whether a list holds these numbers.
bool same(const Json& list, const std::vector<double>& values) {
  if (!list.is_array() || list.size() != values.size()) return false;
  for (size_t i = 0; i < values.size(); ++i) {
    const bool missing = std::isnan(values[i]);
    if (missing != list[i].is_null()) return false;
    if (missing) continue;
    if (!list[i].is_number()) return false;
    const double stated = list[i].get<double>();
    if (!(std::abs(stated - values[i]) <= kAgreement * std::max(1.0, std::abs(values[i])))) {
      return false;
    }
  }
  return true;
}

// Whether the leaf has these means.
bool take(SeriesMean& mean, const Json& leaf) {
  const Json& errors = member(leaf, "se");
  if (!same(member(leaf, "value"), mean.value)) return false;
  if (!errors.is_array() || errors.size() != mean.value.size()) return true;
  for (size_t i = 0; i < mean.value.size(); ++i) {
    if (errors[i].is_number() && errors[i] >= 0) mean.se[i] = errors[i].get<double>();
  }
  return true;
}

}  // namespace

Json summarize_bands(const CheckpointTable& checkpoint) {
  Json sets = Json::array();
  for (size_t grid = 0; grid < checkpoint.grids.size(); ++grid) {
    Json set;
    for (size_t index = 0; index < checkpoint.series.size(); ++index) {
      if (series()[index]->table != SeriesTable::bands) continue;
      for (const SeriesMean& mean : checkpoint.series[index].means) {
        if (mean.grid == grid) set[series()[index]->key] = describe(mean);
      }
    }
    if (set.is_null()) continue;
    set["theta"] = checkpoint.grids[grid].x;
    sets.push_back(std::move(set));
  }
  return sets.empty() ? Json() : sets;
}

Json summarize_curves(const CheckpointTable& checkpoint, int64_t rope) {
  Json curves;
  for (size_t index = 0; index < checkpoint.series.size(); ++index) {
    if (series()[index]->table != SeriesTable::curves) continue;
    const SeriesMean* const mean = mean_over_most_heads(checkpoint.series[index].means, rope);
    if (mean == nullptr) continue;
    Json& curve = curves[series()[index]->key];
    curve = describe(*mean);
    const SeriesGrid& grid = checkpoint.grids[mean->grid];
    curve["x"] = grid.x;
    if (!grid.end.empty()) curve["x_end"] = grid.end;
    if (!grid.mean.empty()) curve["x_mean"] = grid.mean;
  }
  return curves;
}

bool fill_series_errors(std::vector<SeriesMean>& means, size_t index,
                        const CheckpointTable& checkpoint, const Json& summary) {
  const std::string& key = series()[index]->key;
  bool agrees = true;
  for (SeriesMean& mean : means) {
    const std::vector<double>& points = checkpoint.grids[mean.grid].x;
    if (series()[index]->table == SeriesTable::bands) {
      const Json& sets = member(member(summary, "bands"), checkpoint.label);
      if (!sets.is_array()) continue;
      bool found = false;
      for (const Json& set : sets) {
        found = found || (same(member(set, "theta"), points) && take(mean, member(set, key)));
      }
      agrees = agrees && found;
      continue;
    }
    const Json& group =
        mean.rope == SeriesMean::kAll ? summary : member(summary, mean.rope == 1 ? "rope" : "nope");
    const Json& curve = member(member(member(group, "curves"), checkpoint.label), key);
    // The summary has the mean over the most heads alone.
    if (curve.is_null() || &mean != mean_over_most_heads(means, mean.rope)) continue;
    const bool found = same(member(curve, "x"), points) && take(mean, curve);
    agrees = agrees && found;
  }
  return agrees;
}

}  // namespace ropewalk
