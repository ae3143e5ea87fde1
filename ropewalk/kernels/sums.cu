#include <cstdint>

#include "ropewalk/kernels/chunk_reader.cuh"

namespace ropewalk::cuda {
namespace {

constexpr int kWarp = 32;
constexpr int kWarps = 8;

// One stream of queries, then keys.
struct StreamOf {
  const Heads& heads;
  const SumsTo& to;
  int64_t place;

  template <typename Pass>
  __device__ static StreamOf find(const Pass& pass, int64_t stream) {
    const bool is_query = stream < pass.queries.count;
    return {is_query ? pass.queries : pass.keys, is_query ? pass.to_queries : pass.to_keys,
            is_query ? stream : stream - pass.queries.count};
  }
  template <typename T>
  __device__ const T* row(int64_t token) const {
    return static_cast<const T*>(heads.data) + heads.chosen[place] * heads.head_stride +
           token * heads.token_stride;
  }
};

template <typename T>
__global__ void few_tokens(FewPass pass) {
  const StreamOf stream = StreamOf::find(pass, blockIdx.x);
  const SumsTo& to = stream.to;
  if (threadIdx.x == 0) {
    to.tokens[stream.place * to.stride_tokens] += static_cast<double>(pass.tokens);
  }
  for (int64_t i = threadIdx.x; i < pass.d; i += blockDim.x) {
    double sum = 0;
    double squares = 0;
    for (int64_t t = 0; t < pass.tokens; ++t) {
      const double x = to_float(stream.row<T>(t)[i]);
      sum += x;
      squares += x * x;
    }
    to.sum[stream.place * to.stride_sums + i] += sum;
    to.squares[stream.place * to.stride_sums + i] += squares;
  }
}

__device__ int64_t first_of(const SumsPass& pass, int64_t pair) {
  return pass.interleaved ? 2 * pair : pair;
}
__device__ int64_t second_of(const SumsPass& pass, int64_t pair) {
  return pass.interleaved ? 2 * pair + 1 : pair + pass.turns / 2;
}

// A warp takes every kWarps-th token of a chunk, a lane every 32nd pair.
template <typename T>
__global__ void __launch_bounds__(kWarp* kWarps) pair_moduli(SumsPass pass) {
  __shared__ float shared[kWarps][kWarp];
  const StreamOf stream = StreamOf::find(pass, blockIdx.y);
  const int64_t pairs = pass.turns / 2;
  const int64_t begin = static_cast<int64_t>(blockIdx.x) * pass.chunks.chunk;
  const int64_t end = min(begin + pass.chunks.chunk, pass.chunks.tokens);
  float* out = pass.moduli + (blockIdx.y * pass.chunks.chunks() + blockIdx.x) * pairs;
  for (int64_t from = 0; from < pairs; from += kWarp) {
    const int64_t pair = from + threadIdx.x;
    float sum = 0;
    if (pair < pairs) {
      const int64_t a = first_of(pass, pair);
      const int64_t b = second_of(pass, pair);
#pragma unroll 8
      for (int64_t t = begin + threadIdx.y; t < end; t += kWarps) {
        const T* row = stream.row<T>(t);
        const float x = to_float(row[a]);
        const float y = to_float(row[b]);
        sum += sqrtf(x * x + y * y);
      }
    }
    shared[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y == 0 && pair < pairs) {
      float all = 0;
      for (int w = 0; w < kWarps; ++w) all += shared[w][threadIdx.x];
      out[pair] = all;
    }
    __syncthreads();
  }
}

// A thread is one product of a stream. That of a dimension with itself also gives its sum, and that
// of a pair the pair's lengths.
__global__ void add_sums(SumsPass pass) {
  const int64_t d = pass.chunks.d;
  const int64_t element = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (element >= d * (d + 1) / 2) return;
  int64_t i = 0;
  int64_t j = 0;
  unpack(element, d, i, j);
  const StreamOf stream = StreamOf::find(pass, blockIdx.y);
  const SumsTo& to = stream.to;
  const ChunkReader reader{pass.chunks, blockIdx.y};
  const Inverses inverses(pass.chunks);
  const int64_t chunks = pass.chunks.chunks();
  double total = 0;
  double sum = 0;
#pragma unroll 4
  for (int64_t c = 0; c < chunks; ++c) {
    const double n = reader.count(c);
    const double inverse = inverses.of(c, chunks);
    const double sum_i = reader.sums(c, i).y;
    const double sum_j = reader.sums(c, j).y;
    const double mean_i = reader.mean(c, i, sum_i, inverse);
    const double mean_j = reader.mean(c, j, sum_j, inverse);
    total += pass.chunks.products[reader.place(c, i) * d + j] - sum_i * sum_j * inverse +
             mean_i * mean_j * n;
    sum += mean_i * n;
  }
  note_bad(pass.bad, pass.document, blockIdx.y, total);
  to.products[stream.place * to.stride_products + element] += total;
  if (i == j) {
    to.sum[stream.place * to.stride_sums + i] += sum;
    to.squares[stream.place * to.stride_sums + i] += total;
    return;
  }
  const int64_t pair = pass.interleaved ? i / 2 : i;
  if (pair >= pass.turns / 2 || i != first_of(pass, pair) || j != second_of(pass, pair)) return;
  double moduli = 0;
  for (int64_t c = 0; c < chunks; ++c) {
    moduli += pass.moduli[(blockIdx.y * chunks + c) * (pass.turns / 2) + pair];
  }
  to.pairs[stream.place * to.stride_pairs + pair] += total;
  to.moduli[stream.place * to.stride_pairs + pair] += moduli;
}

}  // namespace

void run(const FewPass& pass, Stream stream) {
  const auto streams = static_cast<unsigned>(pass.queries.count + pass.keys.count);
  constexpr unsigned kThreads = 128;
  if (pass.type == Number::float32) {
    few_tokens<float><<<streams, kThreads, 0, native(stream)>>>(pass);
  } else {
    few_tokens<__nv_bfloat16><<<streams, kThreads, 0, native(stream)>>>(pass);
  }
  check_launch("few_tokens");
}

void run(const SumsPass& pass, Stream stream) {
  const auto streams = static_cast<unsigned>(pass.chunks.streams);
  const dim3 chunks(static_cast<unsigned>(pass.chunks.chunks()), streams);
  if (pass.type == Number::float32) {
    pair_moduli<float><<<chunks, dim3(kWarp, kWarps), 0, native(stream)>>>(pass);
  } else {
    pair_moduli<__nv_bfloat16><<<chunks, dim3(kWarp, kWarps), 0, native(stream)>>>(pass);
  }
  check_launch("pair_moduli");
  constexpr unsigned kThreads = 256;
  const auto d = static_cast<unsigned>(pass.chunks.d);
  add_sums<<<dim3((d * (d + 1) / 2 + kThreads - 1) / kThreads, streams), kThreads, 0,
             native(stream)>>>(pass);
  check_launch("add_sums");
}

}  // namespace ropewalk::cuda
