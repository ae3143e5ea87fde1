#pragma once

#include <limits>
#include <map>
#include <string>
#include <vector>

#include "ropewalk/analysis/math/estimate.h"
#include "ropewalk/analysis/statistics/statistic.h"
#include "ropewalk/analysis/table/run_table.h"

namespace ropewalk {

// Adds a head with one component to a checkpoint: statistics get the numbers given by key, the
// others are undefined; `sizes` are the tokens of each block.
inline void add_made_head(CheckpointTable& checkpoint, int64_t layer, int64_t q_head,
                          const std::map<std::string, Estimate>& numbers,
                          const std::vector<double>& sizes) {
  checkpoint.layer.push_back(layer);
  checkpoint.q_head.push_back(q_head);
  for (auto* column : {&checkpoint.pc, &checkpoint.kv_head, &checkpoint.n_q, &checkpoint.n_k}) {
    column->push_back(0);
  }
  checkpoint.rope.push_back(1);
  checkpoint.n_blocks.push_back(static_cast<int64_t>(sizes.size()));
  checkpoint.flag.emplace_back();
  checkpoint.head_flag.emplace_back();
  checkpoint.block_sizes.insert(checkpoint.block_sizes.end(), sizes.begin(), sizes.end());
  checkpoint.columns.resize(statistics().size());
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  for (size_t i = 0; i < statistics().size(); ++i) {
    HeadColumn& column = checkpoint.columns[i];
    const std::string& key = statistics()[i]->key;
    auto found = numbers.find(key);
    // Signs count as already carried.
    if (found == numbers.end() && key == "r_q_run") found = numbers.find("r_q");
    if (found == numbers.end() && key == "r_k_run") found = numbers.find("r_k");
    const Estimate number = found != numbers.end()
                                ? found->second
                                : Estimate{kNone, kNone, std::vector<double>(sizes.size(), kNone)};
    column.value.push_back(number.value);
    column.se.push_back(number.se);
    if (!statistics()[i]->error) continue;
    column.replicates.insert(column.replicates.end(), number.replicates.begin(),
                             number.replicates.end());
  }
}

// The index of a view in all_views().
inline size_t view_index(const std::string& key) {
  const std::vector<IndexedView> views = all_views();
  size_t index = 0;
  while (views.at(index).view->key != key) ++index;
  return index;
}

}  // namespace ropewalk
