#include "ropewalk/kernels/rows/row_spans.h"

#include <algorithm>

#include "ropewalk/kernels/rows/key_moves.h"

namespace ropewalk {

int64_t row_size(int64_t heads, int64_t keys, int64_t d_head) {
  constexpr int64_t kRuns = 128, kMost = 2;
  return heads * (kMost * keys + kRuns * d_head);
}

int64_t chunk_rows(int64_t heads, int64_t keys, int64_t d_head) {
  constexpr int64_t kNumbers = int64_t{1} << 19;
  return std::max<int64_t>(1, kNumbers / row_size(heads, keys, d_head));
}

std::vector<RowSpan> split_rows(const QueryRows& rows) {
  std::vector<RowSpan> spans;
  const auto count = static_cast<size_t>(rows.rows());
  for (size_t begin = 0; begin < count;) {
    const int64_t shortest = shortest_run(rows.seen(rows.t[begin]));
    size_t end = begin + 1;
    while (end < count && shortest_run(rows.seen(rows.t[end])) == shortest &&
           static_cast<int64_t>(end - begin) <
               chunk_rows(rows.heads(), rows.t[end] + 1, rows.q.size(2))) {
      ++end;
    }
    spans.push_back({begin, end});
    begin = end;
  }
  return spans;
}

}  // namespace ropewalk
