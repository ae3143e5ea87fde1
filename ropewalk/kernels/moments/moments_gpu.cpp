#include "ropewalk/kernels/gpu/gpu.h"
#include "ropewalk/kernels/gpu/gpu_chunks.h"
#include "ropewalk/kernels/moments/moments.h"

namespace ropewalk {
namespace {

BlockMoments block_of(const GpuStreams& streams) {
  const Moments& block = streams.block;
  return {block.mean.mutable_data_ptr<double>(), block.position.mutable_data_ptr<double>(),
          block.products.mutable_data_ptr<double>(), block.mean.stride(0),
          block.products.stride(0)};
}

}  // namespace

void join_on_gpu(const at::Tensor& q, const GpuStreams& queries, const at::Tensor& k,
                 const GpuStreams& keys, const GpuDocument& document, const at::Tensor& bad) {
  const GpuChunks chunks(q, queries.heads, k, keys.heads, document.positions);
  cuda::JoinPass pass;
  pass.chunks = chunks.pass;
  pass.query_streams = queries.heads.size(0);
  pass.queries = block_of(queries);
  pass.keys = block_of(keys);
  pass.middle = chunks.middle.const_data_ptr<double>();
  pass.mean = document.positions.mean();
  pass.block = document.block;
  pass.document = document.index;
  pass.bad = bad.mutable_data_ptr<int64_t>();
  cuda::run(pass, current_stream(q));
}

}  // namespace ropewalk
