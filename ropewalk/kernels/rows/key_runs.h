#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "ropewalk/kernels/gpu/row_passes.h"
#include "ropewalk/kernels/rows/query_rows.h"

namespace ropewalk {

// How the keys that some rows see change places (key_moves.h), as a kernel on a GPU takes it.
struct KeyRuns {
  std::vector<cuda::KeyRunTask> tasks;
  int64_t runs = 0;                // the most runs that a row sees
  std::vector<int32_t> first_run;  // [rows]: number of the first run that each row sees
  std::vector<int32_t> row_runs;   // [rows]: how many it sees
  std::vector<int32_t> moves;      // [rows, runs]; 0 where a row sees fewer
};

// Of the rows `begin` to before `end`, at most `together` of which share a task. Rows before
// kFirstMoved see no run.
KeyRuns key_runs_of(const QueryRows& rows, int64_t begin, int64_t end, int64_t together);

// The same, remembered by the thread: a document's rows come again in each layer.
std::shared_ptr<const KeyRuns> remembered_key_runs(const QueryRows& rows, int64_t begin,
                                                   int64_t end, int64_t together);

}  // namespace ropewalk
