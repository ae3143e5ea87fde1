#include "ropewalk/analysis/table/checkpoints_by_label.h"

#include <fmt/format.h>

namespace ropewalk {

CheckpointsByLabel::CheckpointsByLabel(RunTable& table) : source_(table.source) {
  for (CheckpointTable& checkpoint : table.checkpoints) {
    checkpoints_[checkpoint.label] = &checkpoint;
  }
}

CheckpointTable& CheckpointsByLabel::find(const CsvRecord& record, size_t column) const {
  const auto found = checkpoints_.find(record.name(column));
  if (found == checkpoints_.end()) {
    record.fail(column,
                fmt::format("a checkpoint of {}: this file belongs to another table", source_));
  }
  return *found->second;
}

}  // namespace ropewalk
