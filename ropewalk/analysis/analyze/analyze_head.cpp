#include "ropewalk/analysis/analyze/analyze_head.h"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "ropewalk/analysis/analyze/analyze_series.h"
#include "ropewalk/analysis/math/jackknife.h"
#include "ropewalk/analysis/replicates/drift_axis.h"
#include "ropewalk/analysis/statistics/statistic.h"
#include "ropewalk/analysis/table/qk_table.h"
#include "ropewalk/checkpoint/weights_file.h"

namespace ropewalk {
namespace {

// Runs the computations of a head, each once, whoever shares it.
class ComputationCache {
 public:
  explicit ComputationCache(const HeadReplicates& head) : head_(head) {}

  // Contiguous; undefined where only a run can tell.
  const at::Tensor& of(const Statistic& statistic) {
    if (statistic.compute != last_) {
      last_ = statistic.compute;
      values_ = last_ == nullptr ? at::Tensor() : last_(head_).contiguous();
    }
    return values_;
  }

 private:
  const HeadReplicates& head_;
  at::Tensor (*last_)(const HeadReplicates&) = nullptr;
  at::Tensor values_;
};

// Values of one statistic, by case.
class ReplicateValues {
 public:
  ReplicateValues(const Statistic& statistic, const HeadReplicates& head, const at::Tensor& values)
      : statistic_(statistic), tensor_(values), cases_(statistic.error ? head.blocks() + 1 : 1) {
    if (!tensor_.defined()) return;
    const int64_t least =
        statistic.per == Granularity::head ? statistic.member + 1 : head.components();
    if (tensor_.dim() != 2 || tensor_.size(0) != cases_ || tensor_.size(1) < least) {
      throw std::logic_error(wrong_shape(least));
    }
    data_ = tensor_.const_data_ptr<double>();
  }

  double value(int64_t component) const { return at(0, component); }

  // Empty for a statistic without an error.
  std::vector<double> replicates(int64_t component) const {
    std::vector<double> found;
    for (int64_t i = 1; i < cases_; ++i) found.push_back(at(i, component));
    return found;
  }

 private:
  std::string wrong_shape(int64_t least) const {
    const char* rows =
        cases_ == 1 ? "the whole sample" : "the whole sample, then each block left out";
    return fmt::format("statistic {}: compute() gave {}, expected [{}, {}{}]: one row for {}",
                       statistic_.key, format_shape(tensor_.sizes().vec()), cases_, least,
                       statistic_.per == Granularity::head ? " or more" : "", rows);
  }
  double at(int64_t row, int64_t component) const {
    const int64_t column = statistic_.per == Granularity::head ? statistic_.member : component;
    return data_ == nullptr ? kUndefined : data_[row * tensor_.size(1) + column];
  }

  const Statistic& statistic_;
  at::Tensor tensor_;
  int64_t cases_;
  const double* data_ = nullptr;
};

double error_of(const Statistic& statistic, const HeadReplicates& head, double value,
                const std::vector<double>& replicates, const std::vector<double>& sizes) {
  if (statistic.step_error == nullptr) return jackknife_se(value, replicates, sizes);
  return std::isnan(value) ? kUndefined : statistic.step_error(head);
}

void add_flag_if(std::string& flags, bool set, const std::string& name) {
  if (set && !name.empty()) add_flag(flags, name);
}

void repeat_last(HeadColumn& column) {
  column.value.push_back(double{column.value.back()});
  column.se.push_back(double{column.se.back()});
}

// PC0, and which way it lies to the drift axis.
HeadAxis axis_of(const HeadReplicates& head) {
  const at::Tensor first = head.vectors[0].select(1, 0).contiguous();
  const double* data = first.const_data_ptr<double>();
  return {{data, data + first.numel()}, drift_axis(head)[0].dot(first).item<double>()};
}

}  // namespace

void add_head(CheckpointTable& checkpoint, const HeadId& id, const HeadReplicates& head,
              const std::vector<double>& sizes) {
  const std::vector<const Statistic*>& list = statistics();
  checkpoint.columns.resize(list.size());
  std::vector<ReplicateValues> values;
  ComputationCache computed(head);
  for (const Statistic* statistic : list) {
    values.emplace_back(*statistic, head, computed.of(*statistic));
  }

  const size_t blocks = sizes.size();
  const bool constant = !(head.trace[0].item<double>() > 0);
  const auto still = [](const StreamReplicates& stream) {
    return !(stream.position_scatter[0].item<double>() > 0);
  };
  const bool no_position = still(head.queries) || still(head.keys);
  const double tokens[] = {head.queries.tokens[0].item<double>(),
                           head.keys.tokens[0].item<double>()};
  const auto end_flags = [&](std::string& flags, bool no_se) {
    add_flag_if(flags, no_se, "no_se");
    add_flag_if(flags, blocks >= 2 && blocks < kFewBlocks, "few_blocks");
    add_flag_if(flags, checkpoint.random, kRandomWeights);
  };
  std::string head_flags;
  bool head_no_se = blocks < 2;
  add_flag_if(head_flags, constant, "no_variance");
  add_flag_if(head_flags, no_position, "no_position");
  for (const Statistic* statistic : list) {
    for (const HeadFlag& flag : statistic->flags)
      add_flag_if(head_flags, flag.set(head), flag.name);
  }
  add_flag_if(head_flags, head.queries.input.lacks_default, kNotMeasured);
  for (int64_t c = 0; c < head.components(); ++c) {
    const bool rankless = !constant && head.no_rank[0][c].item<bool>();
    std::string flags;
    add_flag_if(flags, constant, "no_variance");
    add_flag_if(flags, rankless, "rank");
    add_flag_if(flags, no_position, "no_position");
    bool no_se = blocks < 2;
    for (size_t i = 0; i < list.size(); ++i) {
      HeadColumn& column = checkpoint.columns[i];
      if (c > 0 && list[i]->table == Table::heads) {  // the same in each of its rows
        repeat_last(column);
        continue;
      }
      const double value = values[i].value(c);
      const std::vector<double> replicates = values[i].replicates(c);
      const double se =
          list[i]->error ? error_of(*list[i], head, value, replicates, sizes) : kUndefined;
      column.value.push_back(value);
      column.se.push_back(se);
      if (c == 0)
        column.replicates.insert(column.replicates.end(), replicates.begin(), replicates.end());
      const bool here = list[i]->table == Table::components;
      const bool undefined = here && !constant && !rankless && !no_position && std::isnan(value);
      add_flag_if(flags, undefined, list[i]->undefined_flag);
      add_flag_if(head_flags, undefined && c == 0, list[i]->undefined_flag);
      const bool lacks_se =
          list[i]->error && !list[i]->step && !std::isnan(value) && std::isnan(se);
      bool& lacking = list[i]->table == Table::heads ? head_no_se : no_se;
      lacking = lacking || lacks_se;
    }
    end_flags(flags, no_se);
    checkpoint.layer.push_back(id.layer);
    checkpoint.q_head.push_back(id.q_head);
    checkpoint.pc.push_back(c);
    checkpoint.kv_head.push_back(id.kv_head);
    checkpoint.rope.push_back(id.rope ? (*id.rope ? 1 : 0) : CheckpointTable::kUnknown);
    checkpoint.n_q.push_back(static_cast<int64_t>(tokens[0]));
    checkpoint.n_k.push_back(static_cast<int64_t>(tokens[1]));
    checkpoint.n_blocks.push_back(static_cast<int64_t>(blocks));
    checkpoint.flag.push_back(std::move(flags));
  }
  end_flags(head_flags, head_no_se);
  checkpoint.head_flag.resize(checkpoint.rows(), head_flags);
  checkpoint.axes.push_back(axis_of(head));
  checkpoint.block_sizes.insert(checkpoint.block_sizes.end(), sizes.begin(), sizes.end());
  add_series(checkpoint, id, head, sizes);
}

}  // namespace ropewalk
