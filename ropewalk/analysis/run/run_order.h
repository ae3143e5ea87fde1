#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ropewalk/analysis/table/run_table.h"

namespace ropewalk {

// Which checkpoints of a run are held against each other, by their places in the table. In a
// run that has no checkpoint at several contexts (context_label.h), each follows the one before.
// Else a step leads from the last checkpoint before that was measured at the same context; one that
// has a single context, and no such checkpoint before it, follows the one before. No step leads
// to one of several models.
class RunOrder {
 public:
  explicit RunOrder(const std::vector<CheckpointTable>& checkpoints);

  // Whether a checkpoint has several contexts.
  bool several() const { return several_; }
  // Where the step to this checkpoint begins; none: a baseline, or the first at its context.
  std::optional<size_t> step_from(size_t index) const;
  // The first trained checkpoint and the last one, at the context of the last one where checkpoints
  // have several; none of fewer than two, and of several models.
  std::optional<std::pair<size_t, size_t>> whole_run() const;
  // The last trained checkpoint; none of several models.
  std::optional<size_t> last() const;
  // The same checkpoint at the next shorter context.
  std::optional<size_t> context_from(size_t index) const;
  // The baselines that it is held against: of its context where there are several.
  std::vector<size_t> baselines(size_t index) const;

 private:
  struct Entry {
    std::string name;
    int64_t context = 0;
    bool labelled = false;  // the label states the context
    bool random = false;
    bool independent_model = false;
  };
  std::vector<Entry> entries_;
  bool several_ = false;
};

}  // namespace ropewalk
