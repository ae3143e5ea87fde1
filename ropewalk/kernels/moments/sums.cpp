#include "ropewalk/kernels/moments/sums.h"

#include "ropewalk/kernels/gpu/gpu.h"

namespace ropewalk {
namespace {

double* data_of(const at::Tensor& numbers) {
  return numbers.defined() ? numbers.mutable_data_ptr<double>() : nullptr;
}
int64_t stride_of(const at::Tensor& numbers) { return numbers.defined() ? numbers.stride(0) : 0; }

cuda::SumPointers to(const VectorSums& sums) {
  return {data_of(sums.tokens),    data_of(sums.sum),    data_of(sums.squares),
          data_of(sums.pairs),     data_of(sums.moduli), data_of(sums.products),
          stride_of(sums.tokens),  stride_of(sums.sum),  stride_of(sums.pairs),
          stride_of(sums.products)};
}

cuda::FewTokensPass few_pass(const FewTokens& few, const at::Tensor& q_heads,
                             const at::Tensor& kv_heads) {
  cuda::FewTokensPass pass;
  pass.type = number_type(few.q);
  pass.queries = heads_of(few.q, q_heads);
  pass.keys = heads_of(few.k, kv_heads);
  pass.tokens = few.q.size(1);
  pass.d = few.q.size(2);
  pass.to_queries = to(few.queries);
  pass.to_keys = to(few.keys);
  return pass;
}

}  // namespace

void add_few_sums(const FewTokens& few, const at::Tensor& q_heads, const at::Tensor& kv_heads) {
  cuda::run(few_pass(few, q_heads, kv_heads), current_stream(few.q));
}

void add_sums(const at::Tensor& q, const SumStreams& queries, const at::Tensor& k,
              const SumStreams& keys, const FewTokens& few, const SummedDocument& document,
              const at::Tensor& bad) {
  const GpuChunks chunks(q, queries.heads, k, keys.heads, document.positions, document.turning);
  cuda::SumsPass pass;
  pass.few = few_pass(few, queries.heads, keys.heads);
  pass.chunks = chunks.pass;
  pass.query_streams = queries.heads.size(0);
  pass.to_queries = to(queries.sums);
  pass.to_keys = to(keys.sums);
  pass.document = document.index;
  pass.bad = bad.mutable_data_ptr<int64_t>();
  cuda::run(pass, current_stream(q));
}

}  // namespace ropewalk
