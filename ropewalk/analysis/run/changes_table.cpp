#include "ropewalk/analysis/run/changes_table.h"

#include <fmt/format.h>

#include "ropewalk/analysis/run/run_order.h"
#include "ropewalk/analysis/table/qk_table.h"
#include "ropewalk/base/error.h"
#include "ropewalk/base/printable.h"
#include "ropewalk/base/processes/interrupt.h"
#include "ropewalk/base/processes/parallel.h"

namespace ropewalk {
namespace {

using Checkpoint = CheckpointAnalysis;

constexpr const char* kHeader =
    "model,from,to,kind,layer,q_head,kv_head,rope,statistic,change,change_se,effect,effect_se,p,q,"
    "changed,paired,flag\n";

std::string labels(const std::vector<const Checkpoint*>& checkpoints) {
  std::string text;
  for (const Checkpoint* checkpoint : checkpoints) {
    text += (text.empty() ? "" : " + ") + checkpoint->label;
  }
  return text;
}

// Checkpoints whose changes are told.
struct Compared {
  const char* kind = nullptr;
  std::vector<const Checkpoint*> from;
  const Checkpoint* to = nullptr;
};

// Rows of a comparison.
class Writer {
 public:
  explicit Writer(const ChangeOptions& options)
      : options_(options), readings_(comparable_readings()) {}

  void add(const Compared& one) {
    throw_if_interrupted();
    const Comparison comparison(one.from, *one.to);
    const std::string first =
        fmt::format("{},{},{},{}", csv_name(one.to->model), csv_name(labels(one.from)),
                    csv_name(one.to->label), one.kind);
    for (const PlacedReading& reading : readings_) {
      for (const HeadChange& head : comparison.changes(reading, options_.min_change)) {
        add_row(first, reading, comparison, head);
      }
    }
  }

  std::string text;

 private:
  void add_row(const std::string& first, const PlacedReading& reading, const Comparison& comparison,
               const HeadChange& head) {
    const Checkpoint& to = comparison.to();
    const size_t row = head.row;
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", first, to.layer[row],
                        to.q_head[row], table_count(to.kv_head[row]), table_count(to.rope[row]),
                        reading.reading->key, table_number(head.change.value),
                        table_number(head.change.se), table_number(head.effect),
                        table_number(head.effect_se), table_number(head.p), table_number(head.q),
                        head.changed ? 1 : 0, comparison.paired() ? 1 : 0, head.flag());
  }

  const ChangeOptions& options_;
  std::vector<PlacedReading> readings_;
};

const Checkpoint& find(const std::vector<Checkpoint>& checkpoints, const std::string& label) {
  std::string known;
  for (const Checkpoint& checkpoint : checkpoints) {
    if (checkpoint.label == label) return checkpoint;
    known += (known.empty() ? "" : ", ") + checkpoint.label;
  }
  throw InputError("no checkpoint is labelled '{}'; there are {}", printable_excerpt(label, 60),
                   printable_excerpt(known, 400));
}

}  // namespace

std::string format_changes_table(const std::vector<Checkpoint>& checkpoints,
                                 const ChangeOptions& options) {
  std::vector<Compared> all;
  const RunOrder order(checkpoints);
  for (size_t i = 0; i < checkpoints.size(); ++i) {
    const Checkpoint& checkpoint = checkpoints[i];
    if (const auto from = order.step_from(i)) {
      all.push_back({"step", {&checkpoints[*from]}, &checkpoint});
    }
    if (const auto from = order.context_from(i)) {
      all.push_back({"context", {&checkpoints[*from]}, &checkpoint});
    }
    std::vector<const Checkpoint*> baselines;
    for (const size_t from : order.baselines(i)) baselines.push_back(&checkpoints[from]);
    if (!checkpoint.random && !baselines.empty()) {
      all.push_back({"baseline", std::move(baselines), &checkpoint});
    }
  }
  if (const auto run = order.whole_run()) {
    all.push_back({"whole", {&checkpoints[run->first]}, &checkpoints[run->second]});
  }
  for (const auto& [from, to] : options.between) {
    all.push_back({"between", {&find(checkpoints, from)}, &find(checkpoints, to)});
  }
  return write_parallel(kHeader, all.size(), [&](size_t i) {
    Writer writer(options);
    writer.add(all[i]);
    return std::move(writer.text);
  });
}

}  // namespace ropewalk
