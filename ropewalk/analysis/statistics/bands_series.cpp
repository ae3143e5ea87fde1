// Queries and keys by rotary pair: bands.csv.

#include "ropewalk/analysis/replicates/bands.h"
#include "ropewalk/analysis/statistics/series.h"

namespace ropewalk::series_of {
namespace {

std::vector<double> thetas(const HeadReplicates& head) {
  if (!head.rope) return {};
  const at::Tensor& theta = head.rope->layer->theta;
  const double* data = theta.const_data_ptr<double>();
  return {data, data + theta.numel()};
}

template <const Bands& (*Of)(const HeadReplicates&), at::Tensor Bands::*Member>
at::Tensor values_per_pair(const HeadReplicates& head) {
  const at::Tensor& found = Of(head).*Member;
  if (found.defined()) return found;
  return at::full({head.blocks() + 1, head.rope->layer->pairs()}, kUndefined, at::kDouble);
}

}  // namespace

const std::vector<SeriesStatistic>& bands() {
  constexpr double kAny = std::numeric_limits<double>::max();
  static const std::vector<SeriesStatistic> kList{
      {"energy_q", "energy of queries",
       "mean squared length of queries in the pair, as attention sees them", SeriesTable::bands,
       Hue::queries, 0, kAny, thetas, values_per_pair<query_bands, &Bands::energy>},
      {"energy_k", "energy of keys",
       "mean squared length of keys in the pair, as attention sees them", SeriesTable::bands,
       Hue::keys, 0, kAny, thetas, values_per_pair<key_bands, &Bands::energy>},
      {"rope_var_q", "variance of queries from turning",
       "share of the variance of queries in the pair that they do not have before RoPE",
       SeriesTable::bands, Hue::queries, -kAny, 1, thetas,
       values_per_pair<query_bands, &Bands::rope_var>},
      {"rope_var_k", "variance of keys from turning",
       "share of the variance of keys in the pair that they do not have before RoPE",
       SeriesTable::bands, Hue::keys, -kAny, 1, thetas,
       values_per_pair<key_bands, &Bands::rope_var>},
      {"mrl_q", "concentration of queries",
       "length of the mean over the mean length of queries in the pair before RoPE, of tokens from "
       "position 4 on: 1 where all point one way",
       SeriesTable::bands, Hue::queries, 0, 1, thetas, values_per_pair<query_bands, &Bands::mrl>},
      {"mrl_k", "concentration of keys",
       "length of the mean over the mean length of keys in the pair before RoPE, of tokens from "
       "position 4 on: 1 where all point one way",
       SeriesTable::bands, Hue::keys, 0, 1, thetas, values_per_pair<key_bands, &Bands::mrl>}};
  return kList;
}

}  // namespace ropewalk::series_of
