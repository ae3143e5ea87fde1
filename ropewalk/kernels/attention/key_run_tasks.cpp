#include "ropewalk/kernels/attention/key_run_tasks.h"

#include <algorithm>

#include "ropewalk/kernels/attention/key_moves.h"

namespace ropewalk {
namespace {

// The runs that a row sees, and how far each moves.
struct RowRuns {
  int64_t first = 0;
  std::vector<int64_t> moves;

  int64_t end() const { return first + static_cast<int64_t>(moves.size()); }
};

RowRuns runs_of(const QueryRows& rows, const std::vector<int64_t>& runs, int64_t t) {
  const int64_t first_key = std::max(rows.first_seen(t), kFirstLateKey);
  const auto number = [&](int64_t key) {
    return std::upper_bound(runs.begin(), runs.end(), key) - runs.begin() - 1;
  };
  const int64_t first = number(first_key), last = number(t);
  const std::vector<int64_t> moves = run_moves(runs, rows.seed, first_key, t);
  return {first, {moves.begin() + first, moves.begin() + last + 1}};
}

void add_tasks(const std::vector<int64_t>& runs, const std::vector<RowRuns>& rows, int64_t begin,
               int64_t end, std::vector<cuda::KeyRunTask>& tasks) {
  const auto row = [&](int64_t i) -> const RowRuns& { return rows[static_cast<size_t>(i)]; };
  const auto narrow = [](int64_t x) { return static_cast<int32_t>(x); };
  int64_t first = begin, last = begin;
  for (int64_t run = row(begin).first; run < row(end - 1).end(); ++run) {
    // Later rows see later runs.
    while (first < end && row(first).end() <= run) ++first;
    last = std::max(last, first);
    while (last < end && row(last).first <= run) ++last;
    if (first == last) continue;
    const auto at = static_cast<size_t>(run);
    tasks.push_back(
        {narrow(runs[at]), narrow(runs[at + 1]), narrow(first), narrow(last), narrow(run)});
  }
}

}  // namespace

KeyRunTasks key_run_tasks(const QueryRows& rows, int64_t begin, int64_t end) {
  std::vector<RowRuns> of_rows(static_cast<size_t>(end - begin));
  KeyRunTasks found;
  const auto t = [&](int64_t row) { return rows.t[static_cast<size_t>(begin + row)]; };
  const int64_t count = end - begin;
  int64_t row = 0;
  while (row < count && t(row) < kFirstMoved) ++row;
  while (row < count) {
    const int64_t first = row, shortest = shortest_run(rows.seen(t(row)));
    while (row < count && shortest_run(rows.seen(t(row))) == shortest) ++row;
    const std::vector<int64_t> runs = key_runs(rows.seed, kFirstLateKey, shortest, t(row - 1) + 1);
    for (int64_t i = first; i < row; ++i) {
      of_rows[static_cast<size_t>(i)] = runs_of(rows, runs, t(i));
    }
    add_tasks(runs, of_rows, first, row, found.tasks);
  }
  for (const RowRuns& one : of_rows) {
    found.runs = std::max(found.runs, static_cast<int64_t>(one.moves.size()));
    found.first_run.push_back(static_cast<int32_t>(one.first));
  }
  for (const RowRuns& one : of_rows) {
    for (int64_t i = 0; i < found.runs; ++i) {
      const bool there = i < static_cast<int64_t>(one.moves.size());
      found.moves.push_back(there ? static_cast<int32_t>(one.moves[static_cast<size_t>(i)]) : 0);
    }
  }
  for (const cuda::KeyRunTask& task : found.tasks) {
    found.most_rows = std::max<int64_t>(found.most_rows, task.last_row - task.first_row);
  }
  return found;
}

}  // namespace ropewalk
