#pragma once

#include <cstdint>
#include <vector>

#include "ropewalk/kernels/attention/query_rows.h"

namespace ropewalk {

// How the keys that some rows see change places (key_moves.h), as a kernel on a GPU takes it. Each
// row has as many runs as the one that sees most; those that it does not see are empty.
struct KeyRuns {
  int64_t runs = 0;
  std::vector<int32_t> begins;  // [rows, runs + 1]: where each begins, and where the last one ends
  std::vector<int32_t> moves;   // [rows, runs]
};

// Of the rows `begin` to before `end`. Rows before kFirstMoved see none.
KeyRuns key_runs_of(const QueryRows& rows, int64_t begin, int64_t end);

}  // namespace ropewalk
