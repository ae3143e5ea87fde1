#include "ropewalk/analysis/run/run_order.h"

#include "ropewalk/analysis/run/context_label.h"

namespace ropewalk {

RunOrder::RunOrder(const std::vector<CheckpointTable>& checkpoints) {
  for (const CheckpointTable& checkpoint : checkpoints) {
    const int64_t context = checkpoint.origin.context;
    Entry entry{checkpoint.label, context, false, checkpoint.random, checkpoint.independent_model};
    const ContextLabel label = split_label(checkpoint.label);
    // A user's own label may look like such a label.
    if (label.context > 0 && (context == 0 || context == label.context)) {
      entry = {label.name, label.context, true, checkpoint.random, checkpoint.independent_model};
      several_ = true;
    }
    entries_.push_back(entry);
  }
}

std::optional<size_t> RunOrder::step_from(size_t index) const {
  const Entry& to = entries_[index];
  if (to.random || to.independent_model) return std::nullopt;
  std::optional<size_t> before;
  for (size_t i = index; i-- > 0;) {
    const Entry& from = entries_[i];
    if (from.random) continue;
    if (!several_ || (from.context == to.context && from.name != to.name)) return i;
    if (!before && !to.labelled) before = i;
  }
  return before;
}

std::optional<size_t> RunOrder::last() const {
  for (size_t i = entries_.size(); i-- > 0;) {
    if (entries_[i].independent_model) return std::nullopt;
    if (!entries_[i].random) return i;
  }
  return std::nullopt;
}

std::optional<std::pair<size_t, size_t>> RunOrder::whole_run() const {
  const auto to = last();
  if (!to) return std::nullopt;
  for (size_t i = 0; i < *to; ++i) {
    const bool same = !several_ || entries_[i].context == entries_[*to].context;
    if (!entries_[i].random && same) return std::pair(i, *to);
  }
  return std::nullopt;
}

std::optional<size_t> RunOrder::context_from(size_t index) const {
  const Entry& to = entries_[index];
  if (!to.labelled) return std::nullopt;
  std::optional<size_t> found;
  for (size_t i = 0; i < entries_.size(); ++i) {
    const Entry& from = entries_[i];
    if (!from.labelled || from.name != to.name || from.context >= to.context) continue;
    if (!found || from.context > entries_[*found].context) found = i;
  }
  return found;
}

std::vector<size_t> RunOrder::baselines(size_t index) const {
  std::vector<size_t> found;
  for (size_t i = 0; i < entries_.size(); ++i) {
    const bool same = !several_ || entries_[i].context == entries_[index].context;
    if (entries_[i].random && same) found.push_back(i);
  }
  return found;
}

}  // namespace ropewalk
