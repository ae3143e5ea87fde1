#include <cstdint>

#include "ropewalk/kernels/gpu/chunk_reader.cuh"

namespace ropewalk::cuda {
namespace {

constexpr int kThreads = 256;

// One stream's row; streams are the queries, then the keys.
template <typename T>
__device__ const T* row_of(const StridedHeads& queries, const StridedHeads& keys, int64_t stream,
                           int64_t token) {
  const bool is_query = stream < queries.count;
  const StridedHeads& heads = is_query ? queries : keys;
  const int64_t head = heads.chosen[is_query ? stream : stream - queries.count];
  return static_cast<const T*>(heads.data) + head * heads.head_stride + token * heads.token_stride;
}

// The sums that a stream is added to, and the stream's index in them.
struct StreamTarget {
  const SumPointers& to;
  int64_t index;
  __device__ StreamTarget(const SumPointers& queries, const SumPointers& keys, int64_t stream,
                          int64_t query_streams)
      : to(stream < query_streams ? queries : keys),
        index(stream < query_streams ? stream : stream - query_streams) {}
};

// Adds one dimension of a stream's few tokens.
template <typename T>
__device__ void add_few(const FewTokensPass& pass, int64_t stream_no, int64_t i) {
  const StreamTarget stream(pass.to_queries, pass.to_keys, stream_no, pass.queries.count);
  const SumPointers& to = stream.to;
  if (i == 0) to.tokens[stream.index * to.stride_tokens] += static_cast<double>(pass.tokens);
  double sum = 0;
  double squares = 0;
#pragma unroll 4
  for (int64_t t = 0; t < pass.tokens; ++t) {
    const double x = to_float(row_of<T>(pass.queries, pass.keys, stream_no, t)[i]);
    sum += x;
    squares += x * x;
  }
  to.sum[stream.index * to.stride_sums + i] += sum;
  to.squares[stream.index * to.stride_sums + i] += squares;
}

template <typename T>
__global__ void few_tokens(FewTokensPass pass) {
  for (int64_t i = threadIdx.x; i < pass.d; i += blockDim.x) add_few<T>(pass, blockIdx.x, i);
}

// Works on one chunk of a stream; a thread has one pair of every so many tokens.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    chunk_moduli_kernel(StridedHeads queries, StridedHeads keys, StreamChunks out) {
  __shared__ float shared[kThreads];
  const int64_t pairs = out.turns / 2;
  const int64_t begin = static_cast<int64_t>(blockIdx.x) * out.chunk;
  const int64_t end = min(begin + out.chunk, out.tokens);
  float* to = out.moduli + (blockIdx.y * out.chunks() + blockIdx.x) * pairs;
  const int lanes = static_cast<int>(min(pairs, static_cast<int64_t>(kThreads)));  // per token
  const int rows = kThreads / lanes;  // tokens at a time
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  const int row = static_cast<int>(threadIdx.x) / lanes;
  for (int64_t from = 0; from < pairs; from += lanes) {
    const int64_t pair = from + lane;
    float sum = 0;
    if (row < rows && pair < pairs) {
      const PairDimensions at = pair_dimensions(out, static_cast<int>(pair));
#pragma unroll 4
      for (int64_t t = begin + row; t < end; t += rows) {
        const T* x = row_of<T>(queries, keys, blockIdx.y, t);
        sum += length(to_float(x[at.first]), to_float(x[at.second]));
      }
    }
    shared[threadIdx.x] = sum;
    __syncthreads();
    if (row == 0 && pair < pairs) {
      for (int r = 1; r < rows; ++r) sum += shared[r * lanes + lane];
      to[pair] = sum;
    }
    __syncthreads();
  }
}

// A thread computes one product of a stream. The product of a dimension with itself also gives its
// sum and the sum of the few tokens, and the product of a pair also gives the pair's lengths. A
// chunk's products are about its shift s: about zero they are Σ (x - s)(x - s)ᵀ + s Σ (x - s)ᵀ + Σ
// (x - s) sᵀ + n s sᵀ.
template <typename T>
__global__ void __launch_bounds__(kThreads) add_sums(SumsPass pass) {
  const int64_t d = pass.chunks.d;
  const int64_t element = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (element >= d * (d + 1) / 2) return;
  int64_t i = 0;
  int64_t j = 0;
  unpack(element, d, i, j);
  const StreamTarget stream(pass.to_queries, pass.to_keys, blockIdx.y, pass.query_streams);
  const SumPointers& to = stream.to;
  const ChunkReader reader{pass.chunks, blockIdx.y};
  const int64_t chunks = pass.chunks.chunks();
  double total = 0;
  bool shifted = false;
#pragma unroll 8
  for (int64_t c = 0; c < chunks; ++c) {
    total += pass.chunks.products[reader.offset(c, i) * d + j];
    shifted |= reader.shift(c, i) != 0 | reader.shift(c, j) != 0;
  }
  for (int64_t c = 0; shifted && c < chunks; ++c) {
    const double shift_i = reader.shift(c, i);
    const double shift_j = reader.shift(c, j);
    total += shift_i * reader.sums(c, j).y + shift_j * reader.sums(c, i).y +
             reader.count(c) * shift_i * shift_j;
  }
  note_bad(pass.bad, pass.document, blockIdx.y, total);
  to.products[stream.index * to.stride_products + element] += total;
  if (i == j) {
    double sum = 0;
#pragma unroll 8
    for (int64_t c = 0; c < chunks; ++c) {
      sum += reader.sums(c, i).y + reader.count(c) * reader.shift(c, i);
    }
    to.sum[stream.index * to.stride_sums + i] += sum;
    to.squares[stream.index * to.stride_sums + i] += total;
    if (pass.few.tokens > 0) add_few<T>(pass.few, blockIdx.y, i);
    return;
  }
  const int64_t pairs = pass.chunks.turns / 2;
  const int64_t pair = pass.chunks.interleaved ? i / 2 : i;
  if (pair >= pairs) return;
  const PairDimensions at = pair_dimensions(pass.chunks, static_cast<int>(pair));
  if (i != at.first || j != at.second) return;
  double moduli = 0;
#pragma unroll 8
  for (int64_t c = 0; c < chunks; ++c) {
    moduli += pass.chunks.moduli[(blockIdx.y * chunks + c) * pairs + pair];
  }
  to.pairs[stream.index * to.stride_pairs + pair] += total;
  to.moduli[stream.index * to.stride_pairs + pair] += moduli;
}

}  // namespace

void run(const FewTokensPass& pass, Stream stream) {
  const auto streams = static_cast<unsigned>(pass.queries.count + pass.keys.count);
  constexpr unsigned kFew = 128;
  if (pass.type == Number::float32) {
    few_tokens<float><<<streams, kFew, 0, native(stream)>>>(pass);
  } else {
    few_tokens<__nv_bfloat16><<<streams, kFew, 0, native(stream)>>>(pass);
  }
  check_launch("few_tokens");
}

void chunk_moduli(Number type, const StridedHeads& queries, const StridedHeads& keys,
                  const StreamChunks& out, Stream stream) {
  const dim3 grid(static_cast<unsigned>(out.chunks()), static_cast<unsigned>(out.streams));
  if (type == Number::float32) {
    chunk_moduli_kernel<float><<<grid, kThreads, 0, native(stream)>>>(queries, keys, out);
  } else {
    chunk_moduli_kernel<__nv_bfloat16><<<grid, kThreads, 0, native(stream)>>>(queries, keys, out);
  }
  check_launch("chunk_moduli");
}

void run(const SumsPass& pass, Stream stream) {
  const auto d = static_cast<unsigned>(pass.chunks.d);
  const dim3 grid((d * (d + 1) / 2 + kThreads - 1) / kThreads,
                  static_cast<unsigned>(pass.chunks.streams));
  if (pass.few.type == Number::float32) {
    add_sums<float><<<grid, kThreads, 0, native(stream)>>>(pass);
  } else {
    add_sums<__nv_bfloat16><<<grid, kThreads, 0, native(stream)>>>(pass);
  }
  check_launch("add_sums");
}

}  // namespace ropewalk::cuda
