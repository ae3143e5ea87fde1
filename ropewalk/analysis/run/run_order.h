#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ropewalk/analysis/table/run_table.h"

namespace ropewalk {

// Which checkpoints of a run are compared, by their indexes in the table. In a run where no
// checkpoint was measured at several contexts (context_label.h), each is compared with the one
// before. Otherwise a step begins at the last earlier checkpoint that was measured at the same
// context; a checkpoint with a single context that has none is compared with the one before it.
// Independent models have no steps.
class RunOrder {
 public:
  explicit RunOrder(const std::vector<CheckpointTable>& checkpoints);

  // Whether any checkpoint has several contexts.
  bool several() const { return several_; }
  // The checkpoint at which the step to this one begins; empty: a baseline, or the first one at its
  // context.
  std::optional<size_t> step_from(size_t index) const;
  // The first and the last trained checkpoint; where checkpoints have several contexts, at the
  // context of the last one. Empty where there are fewer than two, and for independent models.
  std::optional<std::pair<size_t, size_t>> whole_run() const;
  // The last trained checkpoint; empty for independent models.
  std::optional<size_t> last() const;
  // The same checkpoint at the next shorter context.
  std::optional<size_t> context_from(size_t index) const;
  // The baselines with which it is compared; where there are several contexts, those at its own.
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
