#include "ropewalk/kernels/rows/key_runs.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "ropewalk/kernels/rows/key_moves.h"

namespace ropewalk {
namespace {

int32_t narrow(int64_t x) { return static_cast<int32_t>(x); }

// The runs that a row sees, by their numbers among all runs.
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

// Rows that have all runs in common, and their tasks.
class RunTasks {
 public:
  RunTasks(const QueryRows& rows, int64_t begin, std::vector<RowRuns>& found)
      : rows_(rows), begin_(begin), found_(found) {}

  // Of rows begin_ + first … begin_ + last - 1.
  void add(int64_t first, int64_t last, int64_t together, std::vector<cuda::KeyRunTask>& tasks) {
    runs_ =
        key_runs(rows_.seed, kFirstLateKey, shortest_run(rows_.seen(t(first))), t(last - 1) + 1);
    for (int64_t row = first; row < last; ++row) {
      found_[static_cast<size_t>(row)] = runs_of(rows_, runs_, t(row));
    }
    const auto mine = static_cast<std::ptrdiff_t>(tasks.size());
    for (int64_t row = first; row < last; row += together) {
      add_group(row, std::min(row + together, last), tasks);
    }
    // Tasks of the same keys follow each other, so that a processor reads these once.
    std::stable_sort(tasks.begin() + mine, tasks.end(),
                     [](const auto& a, const auto& b) { return a.run < b.run; });
  }

 private:
  int64_t t(int64_t row) const { return rows_.t[static_cast<size_t>(begin_ + row)]; }
  const RowRuns& runs(int64_t row) const { return found_[static_cast<size_t>(row)]; }

  // Later rows see later runs, so those that see a run follow each other.
  void add_group(int64_t first, int64_t last, std::vector<cuda::KeyRunTask>& tasks) const {
    int64_t begin = first, end = first;
    for (int64_t run = runs(first).first; run < runs(last - 1).end(); ++run) {
      while (begin < last && runs(begin).end() <= run) ++begin;
      end = std::max(end, begin);
      while (end < last && runs(end).first <= run) ++end;
      if (begin == end) continue;
      const auto at = static_cast<size_t>(run);
      const int64_t from = std::max({runs_[at], kFirstLateKey, rows_.first_seen(t(begin))});
      const int64_t to = std::min(runs_[at + 1], t(end - 1) + 1);
      tasks.push_back({narrow(from), narrow(to), narrow(begin), narrow(end - begin), narrow(run)});
    }
  }

  const QueryRows& rows_;
  int64_t begin_;
  std::vector<RowRuns>& found_;
  std::vector<int64_t> runs_;
};

}  // namespace

KeyRuns key_runs_of(const QueryRows& rows, int64_t begin, int64_t end, int64_t together) {
  std::vector<RowRuns> of_rows(static_cast<size_t>(end - begin));
  KeyRuns found;
  const auto t = [&](int64_t row) { return rows.t[static_cast<size_t>(begin + row)]; };
  int64_t row = 0;
  while (row < end - begin && t(row) < kFirstMoved) ++row;
  while (row < end - begin) {
    const int64_t first = row, shortest = shortest_run(rows.seen(t(row)));
    while (row < end - begin && shortest_run(rows.seen(t(row))) == shortest) ++row;
    RunTasks(rows, begin, of_rows).add(first, row, together, found.tasks);
  }
  // The longest runs, those of the last rows, begin first, so that none is left over at the end.
  std::reverse(found.tasks.begin(), found.tasks.end());
  for (const RowRuns& one : of_rows) {
    found.runs = std::max(found.runs, static_cast<int64_t>(one.moves.size()));
    found.first_run.push_back(narrow(one.first));
    found.row_runs.push_back(narrow(one.end() - one.first));
  }
  found.moves.resize(of_rows.size() * static_cast<size_t>(found.runs), 0);
  for (size_t i = 0; i < of_rows.size(); ++i) {
    std::transform(of_rows[i].moves.begin(), of_rows[i].moves.end(),
                   found.moves.begin() + static_cast<std::ptrdiff_t>(i) * found.runs, narrow);
  }
  return found;
}

std::shared_ptr<const KeyRuns> remembered_key_runs(const QueryRows& rows, int64_t begin,
                                                   int64_t end, int64_t together) {
  // All that decides them.
  using Key = std::tuple<uint64_t, int64_t, int64_t, std::vector<int64_t>>;
  thread_local std::map<Key, std::shared_ptr<const KeyRuns>> known;
  thread_local size_t numbers = 0;
  constexpr size_t kMostNumbers = size_t{1} << 22;
  Key key{rows.seed,
          rows.scores.window.value_or(0),
          together,
          {rows.t.begin() + begin, rows.t.begin() + end}};
  const auto found = known.find(key);
  if (found != known.end()) return found->second;
  auto made = std::make_shared<const KeyRuns>(key_runs_of(rows, begin, end, together));
  const size_t size = made->moves.size() + 5 * made->tasks.size();
  if (numbers + size > kMostNumbers) {
    known.clear();
    numbers = 0;
  }
  if (size <= kMostNumbers) {
    numbers += size;
    known.emplace(std::move(key), made);
  }
  return made;
}

}  // namespace ropewalk
