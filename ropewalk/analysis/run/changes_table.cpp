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

using Checkpoint = CheckpointTable;

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

const char* name_of(ComparedCheckpoints::Kind kind) {
  switch (kind) {
    case ComparedCheckpoints::Kind::step:
      return "step";
    case ComparedCheckpoints::Kind::context:
      return "context";
    case ComparedCheckpoints::Kind::baseline:
      return "baseline";
    case ComparedCheckpoints::Kind::whole:
      return "whole";
    case ComparedCheckpoints::Kind::between:
      break;
  }
  return "between";
}

std::string format_row(const IndexedView& view, const CheckpointComparison& comparison,
                       const HeadChange& head) {
  const Checkpoint& to = comparison.to();
  const size_t row = head.row;
  return fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", to.layer[row], to.q_head[row],
                     table_count(to.kv_head[row]), table_count(to.rope[row]), view.view->key,
                     table_number(head.change.value), table_number(head.change.se),
                     table_number(head.effect), table_number(head.effect_se), table_number(head.p),
                     table_number(head.q), head.changed ? 1 : 0, comparison.paired() ? 1 : 0,
                     head.flag());
}

size_t find(const std::vector<Checkpoint>& checkpoints, const std::string& label) {
  std::string known;
  for (size_t i = 0; i < checkpoints.size(); ++i) {
    if (checkpoints[i].label == label) return i;
    known += (known.empty() ? "" : ", ") + checkpoints[i].label;
  }
  throw InputError("no checkpoint is labelled '{}'; the labels are {}",
                   printable_excerpt(label, 60), printable_excerpt(known, 400));
}

}  // namespace

std::string changes_header() { return kHeader; }

std::vector<ComparedCheckpoints> compared_checkpoints(const std::vector<Checkpoint>& checkpoints,
                                                      const ChangeOptions& options) {
  using Kind = ComparedCheckpoints::Kind;
  std::vector<ComparedCheckpoints> all;
  const RunOrder order(checkpoints);
  for (size_t i = 0; i < checkpoints.size(); ++i) {
    if (const auto from = order.step_from(i)) all.push_back({Kind::step, {*from}, i});
    if (const auto from = order.context_from(i)) all.push_back({Kind::context, {*from}, i});
    std::vector<size_t> baselines = order.baselines(i);
    if (!checkpoints[i].random && !baselines.empty()) {
      all.push_back({Kind::baseline, std::move(baselines), i});
    }
  }
  if (const auto run = order.whole_run()) all.push_back({Kind::whole, {run->first}, run->second});
  for (const auto& [from, to] : options.between) {
    all.push_back({Kind::between, {find(checkpoints, from)}, find(checkpoints, to)});
  }
  return all;
}

std::string format_changes(ComparedCheckpoints::Kind kind, const CheckpointComparison& comparison) {
  const std::string first = fmt::format("{},{},{},{},", csv_name(comparison.to().model),
                                        csv_name(labels(comparison.from())),
                                        csv_name(comparison.to().label), name_of(kind));
  std::string text;
  for (const IndexedView& view : comparable_views()) {
    for (const HeadChange& head : comparison.changes(view)) {
      text += first + format_row(view, comparison, head);
    }
  }
  return text;
}

}  // namespace ropewalk
