#include <cstdint>

#include "ropewalk/kernels/gpu/chunk_reader.cuh"

namespace ropewalk::cuda {
namespace {

__device__ const BlockMoments& block_of(const JoinPass& pass, int64_t stream, int64_t& index) {
  const bool is_query = stream < pass.query_streams;
  index = is_query ? stream : stream - pass.query_streams;
  return is_query ? pass.queries : pass.keys;
}

// A thread computes one element of a stream's products. About a reference r, here the block's
// former mean, sums of n (m_i - r_i)(m_j - r_j) over chunks become those about the joint mean by
// subtracting A_i A_j / (all tokens), with A the sum of n (m - r).
__global__ void join_products(JoinPass pass) {
  const int64_t d = pass.chunks.d;
  const int64_t stream = blockIdx.y;
  const int64_t element = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (element >= d * (d + 1) / 2) return;
  int64_t i = 0;
  int64_t j = 0;
  unpack(element, d, i, j);
  const ChunkReader reader{pass.chunks, stream};
  int64_t index = 0;
  const BlockMoments& block = block_of(pass, stream, index);
  const Inverses inverses(pass.chunks);
  const int64_t chunks = pass.chunks.chunks();
  const bool first = pass.block.tokens == 0;  // then the first chunk's means are the reference
  const double reference_i = first ? reader.mean(0, i, reader.sums(0, i).y, inverses.of(0, chunks))
                                   : block.mean[index * block.stride_mean + i];
  const double reference_j = first ? reader.mean(0, j, reader.sums(0, j).y, inverses.of(0, chunks))
                                   : block.mean[index * block.stride_mean + j];
  double total = 0;
  double away_i = 0;
  double away_j = 0;
#pragma unroll 4
  for (int64_t c = 0; c < chunks; ++c) {
    const double n = reader.count(c);
    const double inverse = inverses.of(c, chunks);
    const double sum_i = reader.sums(c, i).y;
    const double sum_j = reader.sums(c, j).y;
    const double offset_i = reader.mean(c, i, sum_i, inverse) - reference_i;
    const double offset_j = reader.mean(c, j, sum_j, inverse) - reference_j;
    total += pass.chunks.products[reader.offset(c, i) * d + j] - sum_i * sum_j * inverse +
             offset_i * offset_j * n;
    away_i += offset_i * n;
    away_j += offset_j * n;
  }
  total -= away_i * away_j / (pass.block.tokens + static_cast<double>(pass.chunks.tokens));
  note_bad(pass.bad, pass.document, stream, total);
  block.products[index * block.stride_products + element] += total;
}

// Runs after join_products, which needs the former means.
__global__ void join_means(JoinPass pass) {
  const int64_t stream = blockIdx.x;
  const ChunkReader reader{pass.chunks, stream};
  int64_t index = 0;
  const BlockMoments& block = block_of(pass, stream, index);
  const Inverses inverses(pass.chunks);
  const int64_t chunks = pass.chunks.chunks();
  const double tokens = static_cast<double>(pass.chunks.tokens);
  const double all = pass.block.tokens + tokens;
  const int64_t i = threadIdx.x + static_cast<int64_t>(blockIdx.y) * blockDim.x;
  if (i >= pass.chunks.d) return;
  const double reference = reader.mean(0, i, reader.sums(0, i).y, inverses.of(0, chunks));
  double position = 0;
  double away = 0;
#pragma unroll 4
  for (int64_t c = 0; c < chunks; ++c) {
    const double n = reader.count(c);
    const float2 sums = reader.sums(c, i);
    const double offset = reader.mean(c, i, sums.y, inverses.of(c, chunks)) - reference;
    // The drifts of all tokens sum to zero, so any reference serves.
    const double drift = pass.middle[c] - pass.mean;
    position += sums.x + offset * drift * n;
    away += offset * n;
  }
  const double mean = reference + away / tokens;
  note_bad(pass.bad, pass.document, stream, mean + position);
  double& whole_mean = block.mean[index * block.stride_mean + i];
  const double offset = mean - whole_mean;
  block.position[index * block.stride_mean + i] +=
      position + offset * (pass.mean - pass.block.position_mean) * pass.block.tokens * tokens / all;
  whole_mean += offset * tokens / all;
}

}  // namespace

void run(const JoinPass& pass, Stream stream) {
  constexpr unsigned kThreads = 256;
  constexpr unsigned kFew = 32;  // spreads few streams over many processors
  const auto d = static_cast<unsigned>(pass.chunks.d);
  const auto streams = static_cast<unsigned>(pass.chunks.streams);
  const unsigned elements = d * (d + 1) / 2;
  join_products<<<dim3((elements + kThreads - 1) / kThreads, streams), kThreads, 0,
                  native(stream)>>>(pass);
  check_launch("join_products");
  join_means<<<dim3(streams, (d + kFew - 1) / kFew), kFew, 0, native(stream)>>>(pass);
  check_launch("join_means");
}

}  // namespace ropewalk::cuda
