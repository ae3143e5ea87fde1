#include "ropewalk/kernels/pair_sums.h"

#include "ropewalk/kernels/gpu.h"

namespace ropewalk {
namespace {

double* data_of(const at::Tensor& numbers) {
  return numbers.defined() ? numbers.mutable_data_ptr<double>() : nullptr;
}
int64_t stride_of(const at::Tensor& numbers) { return numbers.defined() ? numbers.stride(0) : 0; }

cuda::PairSumsTo to(const PairSums& sums) {
  return {data_of(sums.tokens), data_of(sums.sum),    data_of(sums.squares),
          data_of(sums.pairs),  data_of(sums.moduli), stride_of(sums.tokens),
          stride_of(sums.sum),  stride_of(sums.pairs)};
}

}  // namespace

void add_pair_sums(const at::Tensor& q, const PairStreams& queries, const at::Tensor& k,
                   const PairStreams& keys, const TurningPairs& turning) {
  cuda::PairSumsPass pass;
  pass.type = number_type(q);
  pass.queries = heads_of(q, queries.heads);
  pass.keys = heads_of(k, keys.heads);
  pass.tokens = q.size(1);
  pass.d = q.size(2);
  pass.turns = turning.dim;
  pass.interleaved = turning.interleaved;
  pass.to_queries = to(queries.sums);
  pass.to_keys = to(keys.sums);
  cuda::run(pass, current_stream(q));
}

}  // namespace ropewalk
