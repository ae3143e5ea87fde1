#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "ropewalk/analysis/table/csv_record.h"
#include "ropewalk/analysis/table/run_table.h"

namespace ropewalk {

// Finds the checkpoints of a table by their labels, for readers of the files beside it. The table
// must outlive this object, and its checkpoints must stay where they are.
class CheckpointsByLabel {
 public:
  explicit CheckpointsByLabel(RunTable& table);

  // The checkpoint that `record` names in `column`. Throws InputError where the table has no such
  // checkpoint.
  CheckpointTable& find(const CsvRecord& record, size_t column) const;

 private:
  std::string source_;  // of the table
  std::map<std::string, CheckpointTable*> checkpoints_;
};

}  // namespace ropewalk
