#include "ropewalk/analysis/analyze/analyze_head.h"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "ropewalk/analysis/analyze/analyze_edges.h"
#include "ropewalk/analysis/analyze/analyze_series.h"
#include "ropewalk/analysis/math/jackknife.h"
#include "ropewalk/analysis/replicates/drift_axis.h"
#include "ropewalk/analysis/statistics/statistic.h"
#include "ropewalk/analysis/table/qk_table.h"
#include "ropewalk/checkpoint/weights_file.h"

namespace ropewalk {
namespace {

// Runs each computation of a head once, even where several statistics share it.
class ComputationCache {
 public:
  explicit ComputationCache(const HeadReplicates& head) : head_(head) {}

  // The values are contiguous; undefined for a statistic that needs the whole run.
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

// The values of one statistic, one per replicate.
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

  const Statistic& statistic() const { return statistic_; }
  double value(int64_t component) const { return at(0, component); }

  // Empty for a statistic without a standard error.
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

// PC0, and on which side of the drift axis it lies.
HeadAxis axis_of(const HeadReplicates& head) {
  const at::Tensor first = head.vectors[0].select(1, 0).contiguous();
  const double* data = first.const_data_ptr<double>();
  return {{data, data + first.numel()}, drift_axis(head)[0].dot(first).item<double>()};
}

// Adds the rows of one head to the columns of its checkpoint.
class HeadRows {
 public:
  HeadRows(CheckpointTable& checkpoint, const HeadId& id, const HeadReplicates& head,
           const std::vector<double>& sizes)
      : checkpoint_(checkpoint),
        id_(id),
        head_(head),
        sizes_(sizes),
        constant_(!(head.trace[0].item<double>() > 0)),
        no_position_(stands_still(head.queries) || stands_still(head.keys)),
        n_q_(static_cast<int64_t>(head.queries.tokens[0].item<double>())),
        n_k_(static_cast<int64_t>(head.keys.tokens[0].item<double>())),
        of_head_{"", sizes.size() < 2} {
    const std::vector<const Statistic*>& list = statistics();
    checkpoint.columns.resize(list.size());
    ComputationCache computed(head);
    for (const Statistic* statistic : list) {
      values_.emplace_back(*statistic, head, computed.of(*statistic));
    }
  }

  void add() {
    begin_head_flags();
    for (int64_t c = 0; c < head_.components(); ++c) add_row(c);
    end(of_head_);
    checkpoint_.head_flag.resize(checkpoint_.rows(), of_head_.text);
  }

 private:
  // Flags of one row of qk.csv, or of the head's row of heads.csv.
  struct Flags {
    std::string text;
    bool no_se = false;
  };

  static bool stands_still(const StreamReplicates& stream) {
    return !(stream.position_scatter[0].item<double>() > 0);
  }

  void begin_head_flags() {
    add_flag_if(of_head_.text, constant_, "no_variance");
    add_flag_if(of_head_.text, no_position_, "no_position");
    for (const Statistic* statistic : statistics()) {
      for (const HeadFlag& flag : statistic->flags)
        add_flag_if(of_head_.text, flag.set(head_), flag.name);
    }
    add_flag_if(of_head_.text, head_.queries.input.lacks_default_accumulators, kNotMeasured);
  }

  void end(Flags& flags) const {
    add_flag_if(flags.text, flags.no_se, "no_se");
    add_flag_if(flags.text, sizes_.size() >= 2 && sizes_.size() < kFewBlocks, "few_blocks");
    add_flag_if(flags.text, checkpoint_.random, kRandomWeights);
  }

  void add_row(int64_t c) {
    const bool rankless = !constant_ && head_.no_rank[0][c].item<bool>();
    Flags flags{"", sizes_.size() < 2};
    add_flag_if(flags.text, constant_, "no_variance");
    add_flag_if(flags.text, rankless, "rank");
    add_flag_if(flags.text, no_position_, "no_position");
    for (size_t i = 0; i < values_.size(); ++i) {
      // A number per head is the same in each of the head's rows.
      if (c > 0 && values_[i].statistic().table == Table::heads) {
        repeat_last(checkpoint_.columns[i]);
      } else {
        add_value(i, c, rankless, flags);
      }
    }
    end(flags);
    checkpoint_.layer.push_back(id_.layer);
    checkpoint_.q_head.push_back(id_.q_head);
    checkpoint_.pc.push_back(c);
    checkpoint_.kv_head.push_back(id_.kv_head);
    checkpoint_.rope.push_back(id_.rope ? (*id_.rope ? 1 : 0) : CheckpointTable::kUnknown);
    checkpoint_.n_q.push_back(n_q_);
    checkpoint_.n_k.push_back(n_k_);
    checkpoint_.n_blocks.push_back(static_cast<int64_t>(sizes_.size()));
    checkpoint_.flag.push_back(std::move(flags.text));
  }

  // Adds the value of statistic `i` in the row of component `c`; where it is missing, sets the
  // flags of row and head that say why.
  void add_value(size_t i, int64_t c, bool rankless, Flags& flags) {
    const Statistic& statistic = values_[i].statistic();
    const double value = values_[i].value(c);
    const std::vector<double> replicates = values_[i].replicates(c);
    const double se =
        statistic.error ? error_of(statistic, head_, value, replicates, sizes_) : kUndefined;
    HeadColumn& column = checkpoint_.columns[i];
    column.value.push_back(value);
    column.se.push_back(se);
    if (c == 0)
      column.replicates.insert(column.replicates.end(), replicates.begin(), replicates.end());

    const bool here = statistic.table == Table::components;
    const bool undefined = here && !constant_ && !rankless && !no_position_ && std::isnan(value);
    add_flag_if(flags.text, undefined, statistic.undefined_flag);
    add_flag_if(of_head_.text, undefined && c == 0, statistic.undefined_flag);
    Flags& lacking = statistic.table == Table::heads ? of_head_ : flags;
    if (statistic.error && !statistic.step && !std::isnan(value) && std::isnan(se))
      lacking.no_se = true;
  }

  CheckpointTable& checkpoint_;
  const HeadId& id_;
  const HeadReplicates& head_;
  const std::vector<double>& sizes_;  // tokens that each replicate leaves out
  const bool constant_;
  const bool no_position_;
  const int64_t n_q_, n_k_;
  Flags of_head_;
  std::vector<ReplicateValues> values_;  // one per statistic
};

}  // namespace

void add_head(CheckpointTable& checkpoint, const HeadId& id, const HeadReplicates& head,
              const std::vector<double>& sizes) {
  HeadRows(checkpoint, id, head, sizes).add();
  checkpoint.axes.push_back(axis_of(head));
  checkpoint.block_sizes.insert(checkpoint.block_sizes.end(), sizes.begin(), sizes.end());
  add_series(checkpoint, id, head, sizes);
  add_edges(checkpoint, id, head);
}

}  // namespace ropewalk
