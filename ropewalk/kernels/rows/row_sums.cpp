#include "ropewalk/kernels/rows/row_sums.h"

#include <algorithm>

#include "ropewalk/kernels/rows/edges.h"
#include "ropewalk/kernels/rows/row_numbers.h"
#include "ropewalk/kernels/rows/row_sums_gpu.h"

namespace ropewalk {
namespace {

// Which rows are of which octave, [octaves, rows] of 0 and 1. What is beyond the last one counts as
// of it.
at::Tensor rows_by_octave(const std::vector<int64_t>& t, int64_t octaves) {
  const at::Tensor in = at::zeros({octaves, static_cast<int64_t>(t.size())}, at::kDouble);
  for (size_t row = 0; row < t.size(); ++row) {
    in[std::min(row_octave(t[row]), octaves - 1)][static_cast<int64_t>(row)] = 1;
  }
  return in;
}

// [heads, n, 2] positions → [heads, n, 2, kEdgeTokens]: ids plus 1
at::Tensor tokens_around(const at::Tensor& ids, const at::Tensor& positions) {
  const at::Tensor padded = at::constant_pad_nd(ids + 1, {kEdgeTokensAround, kEdgeTokensAround});
  const at::Tensor around =
      positions.to(at::kLong).unsqueeze(3) + at::arange(kEdgeTokens, at::kLong);
  return padded.index_select(0, around.flatten()).view(around.sizes());
}

void add_edges(const at::Tensor& strongest, const at::Tensor& ids, int64_t document,
               const RowSums& to) {
  const int64_t heads = strongest.size(0), count = strongest.size(1);
  const at::Tensor index = at::full_like(strongest.narrow(2, 0, 1), document);
  const at::Tensor there = strongest.narrow(2, 2, 1).gt(0);
  const Edges mine{at::cat({index, strongest}, 2) * there,
                   (tokens_around(ids, strongest.narrow(2, 0, 2)) * there.unsqueeze(3))
                       .reshape({heads, count, -1})
                       .to(at::kDouble)};
  const Edges both = strongest_edges({to.edges, to.edge_tokens.flatten(2)}, mine);
  to.edges.copy_(both.numbers);
  to.edge_tokens.copy_(both.tokens.view(to.edge_tokens.sizes()));
}

void add_on_cpu(const QueryRows& given, int64_t document, const RowSums& to) {
  QueryRows rows = given;
  rows.q = given.q.to(at::kFloat);
  rows.k = given.k.to(at::kFloat);
  const RowNumbers found = row_numbers(rows, to.attended.size(2));
  // Whether there were rows before.
  const at::Tensor some = to.sums.select(2, RowNumber::rows).sum(1, true).gt(0);  // [heads, 1]
  const at::Tensor mine = found.numbers.select(2, RowNumber::largest).amax(1, true);
  to.largest.copy_(at::where(some, at::maximum(to.largest, mine), mine));
  const at::Tensor by_octave = rows_by_octave(rows.t, to.sums.size(1));
  to.sums.add_(at::matmul(by_octave, found.numbers));
  to.attended.add_(at::matmul(by_octave, found.distances));
  add_edges(found.strongest, rows.tokens, document, to);
}

}  // namespace

void add_row_sums(const QueryRows& rows, int64_t document, const RowSums& to) {
  if (rows.t.empty()) return;
  (rows.q.is_cuda() ? add_row_sums_on_gpu : add_on_cpu)(rows, document, to);
}

int64_t row_sums_workspace(int64_t heads, int64_t kv_heads, int64_t rows, int64_t tokens,
                           int64_t d_head, const at::Device& device) {
  if (device.is_cuda()) return row_sums_workspace_on_gpu(heads, rows, tokens, d_head);
  return row_numbers_workspace(heads, kv_heads, rows, tokens, d_head);
}

}  // namespace ropewalk
