#include "ropewalk/kernels/attention/key_runs.h"

#include <algorithm>

#include "ropewalk/kernels/attention/key_moves.h"

namespace ropewalk {
namespace {

// The runs that a row sees.
struct RowRuns {
  std::vector<int64_t> begins;  // and the end of the last one
  std::vector<int64_t> moves;
};

// `runs` are those of all keys.
RowRuns runs_of(const QueryRows& rows, const std::vector<int64_t>& runs, int64_t t) {
  const int64_t first_key = std::max(rows.first_seen(t), kFirstLateKey);
  const auto number = [&](int64_t key) {
    return std::upper_bound(runs.begin(), runs.end(), key) - runs.begin() - 1;
  };
  const int64_t first = number(first_key), last = number(t);
  const std::vector<int64_t> moves = run_moves(runs, rows.seed, first_key, t);
  RowRuns found{{runs.begin() + first, runs.begin() + last + 1},
                {moves.begin() + first, moves.begin() + last + 1}};
  found.begins.front() = first_key;
  found.begins.push_back(t + 1);
  return found;
}

}  // namespace

KeyRuns key_runs_of(const QueryRows& rows, int64_t begin, int64_t end) {
  std::vector<RowRuns> of_rows;
  std::vector<int64_t> runs;
  int64_t known = 0;  // the shortest_run() that `runs` are of
  for (int64_t row = begin; row < end; ++row) {
    const int64_t t = rows.t[static_cast<size_t>(row)];
    if (t < kFirstMoved) {
      of_rows.push_back({{0}, {}});
      continue;
    }
    const int64_t shortest = shortest_run(rows.seen(t));
    if (shortest != known) {
      // Rows of the same kind follow each other; the last one's keys end at the last row's.
      runs = key_runs(rows.seed, kFirstLateKey, shortest, rows.t[static_cast<size_t>(end - 1)] + 1);
      known = shortest;
    }
    of_rows.push_back(runs_of(rows, runs, t));
  }
  KeyRuns found;
  for (const RowRuns& one : of_rows) {
    found.runs = std::max(found.runs, static_cast<int64_t>(one.moves.size()));
  }
  for (const RowRuns& one : of_rows) {
    for (int64_t i = 0; i <= found.runs; ++i) {
      const auto at = static_cast<size_t>(i);
      const bool there = at < one.begins.size();
      found.begins.push_back(static_cast<int32_t>(there ? one.begins[at] : one.begins.back()));
      if (i == found.runs) break;
      found.moves.push_back(at < one.moves.size() ? static_cast<int32_t>(one.moves[at]) : 0);
    }
  }
  return found;
}

}  // namespace ropewalk
