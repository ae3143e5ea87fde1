#include "ropewalk/kernels/rows/longest.h"

#include "ropewalk/kernels/gpu/gpu.h"
#include "ropewalk/kernels/gpu/row_passes.h"

namespace ropewalk {
namespace {

void add_on_cpu(const LongestVectors& of) {
  const at::Tensor all = at::linalg_vector_norm(of.vectors, 2, at::IntArrayRef{2}, false,
                                                at::kFloat);  // [heads, T]
  const at::Tensor mine = all.amax(1, true).index_select(0, at::tensor(of.chosen, at::kLong));
  of.longest.copy_(at::maximum(of.longest, mine));
}

void add_on_gpu(const LongestVectors& queries, const LongestVectors& keys) {
  cuda::run({.type = number_type(queries.vectors),
             .queries = heads_of(queries.vectors, queries.chosen_on_gpu),
             .keys = heads_of(keys.vectors, keys.chosen_on_gpu),
             .tokens = queries.vectors.size(1),
             .d = queries.vectors.size(2),
             .longest_query = queries.longest.mutable_data_ptr<double>(),
             .longest_key = keys.longest.mutable_data_ptr<double>(),
             .stride_query = queries.longest.stride(0),
             .stride_key = keys.longest.stride(0)},
            current_stream(queries.vectors));
}

}  // namespace

void add_longest(const LongestVectors& queries, const LongestVectors& keys) {
  if (queries.vectors.size(1) == 0) return;
  if (queries.vectors.is_cuda()) return add_on_gpu(queries, keys);
  add_on_cpu(queries);
  add_on_cpu(keys);
}

}  // namespace ropewalk
