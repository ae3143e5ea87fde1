#include "ropewalk/analysis/analyze_head.h"

#include <cmath>
#include <stdexcept>

#include "ropewalk/analysis/jackknife.h"
#include "ropewalk/analysis/qk_table.h"
#include "ropewalk/analysis/statistic.h"

namespace ropewalk {
namespace {

// Values of one statistic, by case.
class CaseValues {
 public:
  CaseValues(const Statistic& statistic, const HeadCases& head)
      : statistic_(statistic),
        tensor_(statistic.compute(head).contiguous()),
        data_(tensor_.const_data_ptr<double>()) {
    const int64_t cases = statistic.error ? head.blocks() + 1 : 1;
    const int64_t columns = statistic.per == Per::head ? 1 : head.components();
    if (tensor_.dim() != 2 || tensor_.size(0) != cases || tensor_.size(1) != columns) {
      throw std::logic_error("statistic " + statistic.key + " has values of another shape");
    }
  }

  double value(int64_t component) const { return data_[column(component)]; }

  // Empty for a statistic without an error.
  std::vector<double> replicates(int64_t component) const {
    std::vector<double> found;
    for (int64_t i = 1; i < tensor_.size(0); ++i) {
      found.push_back(data_[i * tensor_.size(1) + column(component)]);
    }
    return found;
  }

 private:
  int64_t column(int64_t component) const { return statistic_.per == Per::head ? 0 : component; }

  const Statistic& statistic_;
  at::Tensor tensor_;
  const double* data_;
};

void add_flag(std::string& flags, bool set, const std::string& name) {
  if (!set || name.empty()) return;
  if (!flags.empty()) flags += ';';
  flags += name;
}

}  // namespace

void add_head(CheckpointAnalysis& checkpoint, const HeadPlace& place, const HeadCases& head,
              const std::vector<double>& sizes) {
  const std::vector<const Statistic*>& list = statistics();
  checkpoint.columns.resize(list.size());
  std::vector<CaseValues> values;
  for (const Statistic* statistic : list) values.emplace_back(*statistic, head);

  const size_t blocks = sizes.size();
  const bool constant = !(head.trace[0].item<double>() > 0);
  const auto still = [](const StreamCases& stream) {
    return !(stream.position_scatter[0].item<double>() > 0);
  };
  const bool no_position = still(head.queries) || still(head.keys);
  const double tokens[] = {head.queries.tokens[0].item<double>(),
                           head.keys.tokens[0].item<double>()};
  for (int64_t c = 0; c < head.components(); ++c) {
    const bool rankless = !constant && head.no_rank[0][c].item<bool>();
    std::string flags;
    add_flag(flags, constant, "no_variance");
    add_flag(flags, rankless, "rank");
    add_flag(flags, no_position, "no_position");
    bool no_se = blocks < 2;
    for (size_t i = 0; i < list.size(); ++i) {
      HeadColumn& column = checkpoint.columns[i];
      const double value = values[i].value(c);
      const std::vector<double> replicates = values[i].replicates(c);
      const double se = list[i]->error ? jackknife_se(value, replicates, sizes) : kUndefined;
      column.value.push_back(value);
      column.se.push_back(se);
      if (c == 0)
        column.replicates.insert(column.replicates.end(), replicates.begin(), replicates.end());
      add_flag(flags, !constant && !rankless && !no_position && std::isnan(value),
               list[i]->undefined_flag);
      no_se = no_se || (list[i]->error && !std::isnan(value) && std::isnan(se));
    }
    add_flag(flags, no_se, "no_se");
    add_flag(flags, blocks >= 2 && blocks < kFewBlocks, "few_blocks");
    add_flag(flags, checkpoint.random, kRandomWeights);
    checkpoint.layer.push_back(place.layer);
    checkpoint.q_head.push_back(place.q_head);
    checkpoint.pc.push_back(c);
    checkpoint.kv_head.push_back(place.kv_head);
    checkpoint.rope.push_back(place.rope ? 1 : 0);
    checkpoint.n_q.push_back(static_cast<int64_t>(tokens[0]));
    checkpoint.n_k.push_back(static_cast<int64_t>(tokens[1]));
    checkpoint.n_blocks.push_back(static_cast<int64_t>(blocks));
    checkpoint.flag.push_back(std::move(flags));
  }
  checkpoint.block_sizes.insert(checkpoint.block_sizes.end(), sizes.begin(), sizes.end());
}

}  // namespace ropewalk
