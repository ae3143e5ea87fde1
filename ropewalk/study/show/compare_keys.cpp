#include "ropewalk/study/show/compare_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ropewalk/analysis/statistics/statistic.h"
#include "ropewalk/base/error.h"
#include "ropewalk/base/nearest.h"
#include "ropewalk/base/printable.h"
#include "ropewalk/study/show/tables.h"

namespace ropewalk {

std::vector<std::string> compared_keys() {
  std::vector<std::string> keys, depth;
  for (const IndexedView& indexed : all_views()) {
    if (!indexed.view->mean.empty()) keys.push_back(indexed.view->mean);
    if (!indexed.view->depth.empty()) depth.push_back(indexed.view->depth);
  }
  keys.push_back("taxonomy");
  keys.insert(keys.end(), depth.begin(), depth.end());
  keys.emplace_back(kOtherModels);
  return keys;
}

void check_reference_keys(const Json& reference, const std::string& source) {
  const std::vector<std::string> compared = compared_keys();
  const std::vector<std::string_view> known(compared.begin(), compared.end());
  const std::vector<IndexedView> views = all_views();
  for (const auto& [key, value] : reference.items()) {
    const bool spread = std::any_of(
        views.begin(), views.end(),
        [&key = key](const IndexedView& indexed) { return indexed.view->spread == key; });
    if (spread) continue;
    const std::string near = nearest(key, known);
    if (near.empty() || near == key) continue;
    throw InputError("{}: unknown key '{}'; did you mean {}?", source, printable_excerpt(key, 60),
                     near);
  }
}

std::string why_without_numbers(const RunNumbers& run) {
  const std::vector<IndexedView> views = all_views();
  const std::filesystem::path table = run.source;
  const std::string heads = (table.parent_path() / kHeads).string();
  for (size_t i = 0; i < views.size(); ++i) {
    if (views[i].statistic->table != Table::heads) continue;
    const auto there = [&](const CheckpointNumbers& numbers) {
      return !std::isnan(numbers.views[i].over_heads.mean);
    };
    if (std::any_of(run.checkpoints.begin(), run.checkpoints.end(), there)) {
      return fmt::format("{} does not have this column", heads);
    }
  }
  return fmt::format(
      "{} is missing or was left out; ropewalk run and ropewalk analyze write it to the table's "
      "folder",
      heads);
}

}  // namespace ropewalk
