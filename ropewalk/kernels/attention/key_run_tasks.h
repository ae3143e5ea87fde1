#pragma once

#include <cstdint>
#include <vector>

#include "ropewalk/kernels/attention/query_rows.h"
#include "ropewalk/kernels/gpu/row_passes.h"

namespace ropewalk {

// How the keys of some rows change places (key_moves.h), as kernels on a GPU take it.
struct KeyRunTasks {
  std::vector<cuda::KeyRunTask> tasks;  // each run of keys, with the rows that see some of it
  std::vector<int32_t> first_run;       // [rows]: number of the first run that each row sees
  std::vector<int32_t> moves;           // [rows, runs]
  int64_t runs = 0;                     // the most runs that a row sees
  int64_t most_rows = 0;                // of a task
};

// Of the rows `begin` to before `end`, which tasks number from 0. Rows before kFirstMoved have
// none.
KeyRunTasks key_run_tasks(const QueryRows& rows, int64_t begin, int64_t end);

}  // namespace ropewalk
