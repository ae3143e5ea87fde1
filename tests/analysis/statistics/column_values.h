#pragma once

#include <string>
#include <vector>

#include "ropewalk/analysis/replicates/head_replicates.h"
#include "ropewalk/analysis/statistics/series.h"
#include "ropewalk/analysis/statistics/statistic.h"

namespace ropewalk {

// What statistics and series give of a made head; row 0: of all documents.
inline double value(const HeadReplicates& head, const std::string& key, int64_t row = 0) {
  const Statistic& statistic = *statistics()[statistic_index(key)];
  return statistic.compute(head)[row][statistic.member].item<double>();
}

inline at::Tensor series_row(const HeadReplicates& head, const std::string& key, int64_t row = 0) {
  return series()[series_index(key)]->compute(head)[row];
}

// Documents without that of a row's block.
inline std::vector<at::Tensor> chosen(const std::vector<at::Tensor>& all, int64_t row) {
  std::vector<at::Tensor> some;
  for (size_t i = 0; i < all.size(); ++i) {
    if (static_cast<int64_t>(i) + 1 != row) some.push_back(all[i]);
  }
  return some;
}

}  // namespace ropewalk
