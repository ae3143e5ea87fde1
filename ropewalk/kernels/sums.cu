#include <cstdint>

#include "ropewalk/kernels/chunk_reader.cuh"

namespace ropewalk::cuda {
namespace {

constexpr int kThreads = 256;

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

// To the last bit but one, in one instruction.
__device__ float square_root(float x) {
  float root;
  asm("sqrt.approx.f32 %0, %1;" : "=f"(root) : "f"(x));
  return root;
}

// Of one chunk of a stream. A thread has `count` neighbouring pairs of every so many tokens; with
// more than one they are read at once, as only halves allow.
template <typename T, int count>
__global__ void __launch_bounds__(kThreads) pair_moduli(SumsPass pass) {
  using P = Pack<T, count>;
  __shared__ float shared[kThreads][count];
  const StreamOf stream = StreamOf::find(pass, blockIdx.y);
  const int64_t pairs = pass.turns / 2;
  const int64_t begin = static_cast<int64_t>(blockIdx.x) * pass.chunks.chunk;
  const int64_t end = min(begin + pass.chunks.chunk, pass.chunks.tokens);
  float* out = pass.moduli + (blockIdx.y * pass.chunks.chunks() + blockIdx.x) * pairs;
  const int lanes = min(static_cast<int>(pairs / count), kThreads);  // of a token
  const int rows = kThreads / lanes;                                 // tokens at a time
  const int lane = static_cast<int>(threadIdx.x) % lanes;
  const int row = static_cast<int>(threadIdx.x) / lanes;
  for (int64_t from = 0; from < pairs; from += static_cast<int64_t>(lanes) * count) {
    const int64_t pair = from + static_cast<int64_t>(lane) * count;
    const int64_t first = first_of(pass, pair);
    const int64_t second = second_of(pass, pair);
    float sum[count] = {};
    if (row < rows && pair < pairs) {
#pragma unroll 4
      for (int64_t t = begin + row; t < end; t += rows) {
        const T* x = stream.row<T>(t);
        const P one = *reinterpret_cast<const P*>(x + first);
        const P other = *reinterpret_cast<const P*>(x + second);
#pragma unroll
        for (int i = 0; i < count; ++i) {
          const float a = to_float(one.at[i]);
          const float b = to_float(other.at[i]);
          sum[i] += square_root(a * a + b * b);
        }
      }
    }
#pragma unroll
    for (int i = 0; i < count; ++i) shared[threadIdx.x][i] = sum[i];
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i < lanes * count; i += kThreads) {
      float all = 0;
      for (int r = 0; r < rows; ++r) all += shared[r * lanes + i / count][i % count];
      if (from + i < pairs) out[from + i] = all;
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

template <typename T>
void launch_moduli(const SumsPass& pass, cudaStream_t stream) {
  constexpr int kPack = kWide<T>;
  const auto packed = [](const Heads& heads) {
    return reinterpret_cast<uintptr_t>(heads.data) % 16 == 0 && heads.head_stride % kPack == 0 &&
           heads.token_stride % kPack == 0;
  };
  const bool wide =
      !pass.interleaved && pass.turns / 2 % kPack == 0 && packed(pass.queries) && packed(pass.keys);
  const dim3 grid(static_cast<unsigned>(pass.chunks.chunks()),
                  static_cast<unsigned>(pass.chunks.streams));
  if (wide) {
    pair_moduli<T, kPack><<<grid, kThreads, 0, stream>>>(pass);
  } else {
    pair_moduli<T, 1><<<grid, kThreads, 0, stream>>>(pass);
  }
  check_launch("pair_moduli");
}

}  // namespace

void run(const FewPass& pass, Stream stream) {
  const auto streams = static_cast<unsigned>(pass.queries.count + pass.keys.count);
  constexpr unsigned kFew = 128;
  if (pass.type == Number::float32) {
    few_tokens<float><<<streams, kFew, 0, native(stream)>>>(pass);
  } else {
    few_tokens<__nv_bfloat16><<<streams, kFew, 0, native(stream)>>>(pass);
  }
  check_launch("few_tokens");
}

void run(const SumsPass& pass, Stream stream) {
  if (pass.turns > 0) {
    if (pass.type == Number::float32) {
      launch_moduli<float>(pass, native(stream));
    } else {
      launch_moduli<__nv_bfloat16>(pass, native(stream));
    }
  }
  const auto d = static_cast<unsigned>(pass.chunks.d);
  const dim3 grid((d * (d + 1) / 2 + kThreads - 1) / kThreads,
                  static_cast<unsigned>(pass.chunks.streams));
  add_sums<<<grid, kThreads, 0, native(stream)>>>(pass);
  check_launch("add_sums");
}

}  // namespace ropewalk::cuda
