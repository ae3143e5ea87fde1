#include <cuda_bf16.h>
#include <mma.h>

#include <algorithm>
#include <cfloat>
#include <stdexcept>
#include <string>

#include "ropewalk/kernels/passes.h"

namespace ropewalk::cuda {
namespace {

void check_launch(const char* name) {
  const cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) {
    throw std::runtime_error(std::string("CUDA kernel ") + name + ": " + cudaGetErrorString(error));
  }
}

cudaStream_t native(Stream stream) { return static_cast<cudaStream_t>(stream); }

__device__ float to_float(float x) { return x; }
__device__ float to_float(__nv_bfloat16 x) { return __bfloat162float(x); }
__device__ void round_to(float value, float& x) { x = value; }
__device__ void round_to(float value, __nv_bfloat16& x) { x = __float2bfloat16_rn(value); }

// Sixteen bytes of numbers, or one where rows are not made of sixteens.
template <typename T, int count>
struct alignas(sizeof(T) * count) Pack {
  T at[count];
};
template <typename T>
constexpr int kWide = 16 / sizeof(T);

bool divides(int64_t by, std::initializer_list<int64_t> values) {
  return std::all_of(values.begin(), values.end(), [&](int64_t v) { return v % by == 0; });
}
bool aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

template <typename T>
__device__ T* row(const Rows& rows, int64_t i) {
  return static_cast<T*>(rows.data) + i / rows.inner * rows.outer_stride +
         i % rows.inner * rows.inner_stride;
}

// ---- norm

constexpr int kNormThreads = 256;

// blockDim.x lanes share a row (a power of two from 32), blockDim.y rows share a block.
template <typename T, int count>
__global__ void norm_rows(NormPass pass) {
  using P = Pack<T, count>;
  __shared__ float partial[kNormThreads / 32];
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  const bool inside = i < pass.x.count();
  const T* x = inside ? row<T>(pass.x, i) : nullptr;
  float squares = 0;
  if (inside) {
    for (int64_t j = threadIdx.x * count; j < pass.width; j += blockDim.x * count) {
      const P pack = *reinterpret_cast<const P*>(x + j);
#pragma unroll
      for (int l = 0; l < count; ++l) squares += to_float(pack.at[l]) * to_float(pack.at[l]);
    }
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    squares += __shfl_xor_sync(0xFFFFFFFF, squares, offset);
  }
  if (blockDim.x > 32) {  // then blockDim.y is 1 or the row's warps are side by side
    const int thread = threadIdx.y * blockDim.x + threadIdx.x;
    if (thread % 32 == 0) partial[thread / 32] = squares;
    __syncthreads();
    const int warps = blockDim.x / 32;
    squares = 0;
    for (int w = 0; w < warps; ++w) squares += partial[threadIdx.y * warps + w];
  }
  if (!inside) return;
  const float inverse = rsqrtf(squares / static_cast<float>(pass.width) + pass.eps);
  const float offset = pass.weight_plus_one ? 1.0F : 0.0F;
  const T* weight = static_cast<const T*>(pass.weight);
  T* out = static_cast<T*>(pass.out) + i * pass.width;
  for (int64_t j = threadIdx.x * count; j < pass.width; j += blockDim.x * count) {
    const P pack = *reinterpret_cast<const P*>(x + j);
    const P scale = *reinterpret_cast<const P*>(weight + j);
    P result;
#pragma unroll
    for (int l = 0; l < count; ++l) {
      round_to(to_float(pack.at[l]) * inverse * (to_float(scale.at[l]) + offset), result.at[l]);
    }
    *reinterpret_cast<P*>(out + j) = result;
  }
}

template <typename T, int count>
void launch_norm(const NormPass& pass, cudaStream_t stream) {
  unsigned lanes = 32;
  while (lanes < kNormThreads && lanes * count < pass.width) lanes *= 2;
  const dim3 block(lanes, kNormThreads / lanes);
  const auto blocks = static_cast<unsigned>((pass.x.count() + block.y - 1) / block.y);
  norm_rows<T, count><<<blocks, block, 0, stream>>>(pass);
  check_launch("norm_rows");
}

template <typename T>
void choose_norm(const NormPass& pass, cudaStream_t stream) {
  const bool wide = divides(kWide<T>, {pass.width, pass.x.outer_stride, pass.x.inner_stride}) &&
                    aligned(pass.x.data) && aligned(pass.weight) && aligned(pass.out);
  wide ? launch_norm<T, kWide<T>>(pass, stream) : launch_norm<T, 1>(pass, stream);
}

// ---- turn

template <typename T, int count>
__device__ void turn_pack(const TurnPass& pass, unsigned i) {
  using P = Pack<T, count>;
  const auto packs = static_cast<unsigned>(pass.pairs) / count;
  const auto heads = static_cast<unsigned>(pass.x.outer);
  const int64_t j = i % packs * count;
  // Heads are innermost, so that neighbours share a position's angles and lie side by side.
  const int64_t head = i / packs % heads;
  const int64_t position = i / packs / heads;
  T* x = static_cast<T*>(pass.x.data) + head * pass.x.outer_stride + position * pass.x.inner_stride;
  const float* cos = pass.cos + position * pass.pairs + j;
  const float* sin = pass.sin + position * pass.pairs + j;
  T* first_place = pass.interleaved ? x + 2 * j : x + j;
  T* second_place = pass.interleaved ? x + 2 * j + 1 : x + j + pass.pairs;
  const P first = *reinterpret_cast<const P*>(first_place);
  const P second = *reinterpret_cast<const P*>(second_place);
  P turned_first;
  P turned_second;
#pragma unroll
  for (int l = 0; l < count; ++l) {
    const float a = to_float(first.at[l]);
    const float b = to_float(second.at[l]);
    round_to(a * cos[l] - b * sin[l], turned_first.at[l]);
    round_to(b * cos[l] + a * sin[l], turned_second.at[l]);
  }
  *reinterpret_cast<P*>(first_place) = turned_first;
  *reinterpret_cast<P*>(second_place) = turned_second;
}

template <typename T, int count>
__global__ void turn_rows(TurnPass first, TurnPass second) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const auto in_first = static_cast<unsigned>(first.x.count() * (first.pairs / count));
  if (i < in_first) {
    turn_pack<T, count>(first, i);
  } else if (i - in_first < second.x.count() * (second.pairs / count)) {
    turn_pack<T, count>(second, i - in_first);
  }
}

template <typename T, int count>
void launch_turn(const TurnPass& first, const TurnPass& second, cudaStream_t stream) {
  constexpr int kThreads = 256;
  const int64_t packs = (first.x.count() + second.x.count()) * (first.pairs / count);
  const auto blocks = static_cast<unsigned>((packs + kThreads - 1) / kThreads);
  turn_rows<T, count><<<blocks, kThreads, 0, stream>>>(first, second);
  check_launch("turn_rows");
}

template <typename T>
void choose_turn(const TurnPass& first, const TurnPass& second, cudaStream_t stream) {
  const bool wide = !first.interleaved && aligned(first.x.data) && aligned(second.x.data) &&
                    divides(kWide<T>, {first.pairs, first.x.outer_stride, first.x.inner_stride,
                                       second.x.outer_stride, second.x.inner_stride});
  wide ? launch_turn<T, kWide<T>>(first, second, stream) : launch_turn<T, 1>(first, second, stream);
}

// ---- gate

__device__ float activated(float x, Activation activation) {
  switch (activation) {
    case Activation::silu:
      return x / (1 + __expf(-x));
    case Activation::gelu:
      return 0.5F * x * (1 + erff(x * 0.707106781F));
    case Activation::gelu_tanh:
      return x / (1 + __expf(-1.59576912F * (x + 0.044715F * x * x * x)));
    case Activation::relu:
      return fmaxf(x, 0);
    case Activation::relu_squared:
      return fmaxf(x, 0) * fmaxf(x, 0);
    default:
      return x;
  }
}

template <typename T, int count>
__global__ void gate_rows(GatePass pass) {
  using P = Pack<T, count>;
  const auto packs = static_cast<unsigned>(pass.width) / count;
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const int64_t number = i / packs;
  if (number >= pass.x.outer) return;
  T* gate = static_cast<T*>(pass.x.data) + number * pass.x.outer_stride + i % packs * count;
  const P gates = *reinterpret_cast<const P*>(gate);
  const P ups = *reinterpret_cast<const P*>(gate + pass.width);
  P result;
#pragma unroll
  for (int l = 0; l < count; ++l) {
    round_to(activated(to_float(gates.at[l]), pass.activation) * to_float(ups.at[l]), result.at[l]);
  }
  *reinterpret_cast<P*>(gate) = result;
}

template <typename T, int count>
void launch_gate(const GatePass& pass, cudaStream_t stream) {
  constexpr int kThreads = 256;
  const int64_t packs = pass.x.outer * (pass.width / count);
  const auto blocks = static_cast<unsigned>((packs + kThreads - 1) / kThreads);
  gate_rows<T, count><<<blocks, kThreads, 0, stream>>>(pass);
  check_launch("gate_rows");
}

template <typename T>
void choose_gate(const GatePass& pass, cudaStream_t stream) {
  const bool wide = aligned(pass.x.data) && divides(kWide<T>, {pass.width, pass.x.outer_stride});
  wide ? launch_gate<T, kWide<T>>(pass, stream) : launch_gate<T, 1>(pass, stream);
}

// ---- moments of a chunk
//
// Tensor cores multiply bfloat16 exactly and add in float32, so products of bfloat16 vectors need
// no more than a shift that stays bfloat16: where a dimension's mean exceeds its spread, the shift
// is that mean rounded to bfloat16, and x - shift is exact for every x within a factor of two of it
// (Sterbenz); elsewhere it is zero, and what squaring loses to the mean is a few bits.

constexpr int kTile = 64;  // tokens in shared memory at a time
constexpr int kMomentThreads = 512;

template <int d>
struct alignas(32) Tile {
  static constexpr int kStride = d + 8;  // keeps rows off each other's banks
  __nv_bfloat16 x[kTile][kStride];
};

// The mean far enough from zero, in spreads, to shift by it.
constexpr float kFarMean = 4;

template <int d>
__global__ void __launch_bounds__(kMomentThreads)
    chunk_moments_kernel(Heads queries, Heads keys, StreamChunks out) {
  namespace wmma = nvcuda::wmma;
  static_assert(d % 64 == 0 && d <= 128);
  __shared__ Tile<d> tile;
  __shared__ float shift[d];
  __shared__ float2 halves[kMomentThreads];
  __shared__ __align__(32) __nv_bfloat16 basis[kTile][16];

  const int64_t stream = blockIdx.y;
  const int64_t chunk = blockIdx.x;
  const bool is_query = stream < queries.count;
  const int64_t head = is_query ? queries.chosen[stream] : keys.chosen[stream - queries.count];
  const int64_t token_stride = is_query ? queries.token_stride : keys.token_stride;
  const auto* source = static_cast<const __nv_bfloat16*>(is_query ? queries.data : keys.data) +
                       head * (is_query ? queries.head_stride : keys.head_stride);
  const int64_t begin = chunk * out.chunk;
  const int64_t end = min(begin + out.chunk, out.tokens);

  constexpr int kPacksPerRow = d / 8;
  constexpr int kPacks = kTile * kPacksPerRow / kMomentThreads;  // of a thread
  static_assert(kTile * kPacksPerRow % kMomentThreads == 0);
  using P = Pack<__nv_bfloat16, 8>;
  P next[kPacks];
  const auto fetch = [&](int64_t from) {
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const int place = threadIdx.x + p * kMomentThreads;
      const int64_t token = from + place / kPacksPerRow;
      if (token < end) {
        next[p] =
            *reinterpret_cast<const P*>(source + token * token_stride + place % kPacksPerRow * 8);
      }
    }
  };

  // The shift, from the chunk's first tile.
  fetch(begin);
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    const int place = threadIdx.x + p * kMomentThreads;
    *reinterpret_cast<P*>(&tile.x[place / kPacksPerRow][place % kPacksPerRow * 8]) = next[p];
  }
  __syncthreads();
  constexpr int kShare = kMomentThreads / d;  // threads of a dimension
  const int dimension = threadIdx.x % d;
  const int count = static_cast<int>(min(end - begin, static_cast<int64_t>(kTile)));
  const float reference = to_float(tile.x[0][dimension]);
  float2 away{0, 0};  // sums of x - reference and of its square
#pragma unroll 8
  for (int t = threadIdx.x / d; t < count; t += kShare) {
    const float x = to_float(tile.x[t][dimension]) - reference;
    away.x += x;
    away.y += x * x;
  }
  halves[threadIdx.x] = away;
  __syncthreads();
  if (threadIdx.x < d) {
    away = {0, 0};
    for (int s = 0; s < kShare; ++s) {
      away.x += halves[s * d + threadIdx.x].x / static_cast<float>(count);
      away.y += halves[s * d + threadIdx.x].y / static_cast<float>(count);
    }
    const float mean = reference + away.x;
    const float spread = sqrtf(fmaxf(away.y - away.x * away.x, 0));
    shift[threadIdx.x] = fabsf(mean) > kFarMean * spread ? to_float(__float2bfloat16_rn(mean)) : 0;
  }
  __syncthreads();

  // Warps share out the products in tiles of 16 x 16: kRowTiles x kColumnTiles for each.
  constexpr int kSide = d / 16;
  constexpr int kGroups = 4;  // of warps, along rows and along columns
  constexpr int kRowTiles = kSide / kGroups;
  constexpr int kColumnTiles = kSide / kGroups;
  static_assert(kSide % kGroups == 0 && kMomentThreads == 32 * kGroups * kGroups);
  const int warp = threadIdx.x / 32;
  const int first_row = warp % kGroups * kRowTiles;
  const int first_column = warp / kGroups * kColumnTiles;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> products[kRowTiles][kColumnTiles];
#pragma unroll
  for (int r = 0; r < kRowTiles; ++r) {
#pragma unroll
    for (int c = 0; c < kColumnTiles; ++c) wmma::fill_fragment(products[r][c], 0.0F);
  }

  // Sums come from one more product, with columns 1 and t - middle, which bfloat16 holds exactly as
  // a multiple of 8 and a rest. The warps of the first columns make them.
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums[kRowTiles];
#pragma unroll
  for (int r = 0; r < kRowTiles; ++r) wmma::fill_fragment(sums[r], 0.0F);
  for (int i = threadIdx.x; i < kTile * 16; i += kMomentThreads) {
    basis[i / 16][i % 16] = __float2bfloat16_rn(i % 16 == 0 ? 1.0F : 0.0F);
  }
  const float middle = static_cast<float>(end - begin - 1) / 2;

  for (int64_t from = begin; from < end; from += kTile) {
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const int place = threadIdx.x + p * kMomentThreads;
      const int column = place % kPacksPerRow * 8;
      P about;
      const bool inside = from + place / kPacksPerRow < end;
#pragma unroll
      for (int l = 0; l < 8; ++l) {
        about.at[l] = __float2bfloat16_rn(inside ? to_float(next[p].at[l]) - shift[column + l] : 0);
      }
      *reinterpret_cast<P*>(&tile.x[place / kPacksPerRow][column]) = about;
    }
    if (threadIdx.x < kTile) {
      const float time = static_cast<float>(from - begin + threadIdx.x) - middle;
      const float multiple = 8 * floorf(time / 8);
      basis[threadIdx.x][1] = __float2bfloat16_rn(multiple);
      basis[threadIdx.x][2] = __float2bfloat16_rn(time - multiple);
    }
    __syncthreads();
    if (from + kTile < end) fetch(from + kTile);
#pragma unroll 1
    for (int step = 0; step < kTile; step += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::col_major> a[kRowTiles];
      wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::row_major> b;
#pragma unroll
      for (int r = 0; r < kRowTiles; ++r) {
        wmma::load_matrix_sync(a[r], &tile.x[step][(first_row + r) * 16], Tile<d>::kStride);
      }
#pragma unroll
      for (int c = 0; c < kColumnTiles; ++c) {
        wmma::load_matrix_sync(b, &tile.x[step][(first_column + c) * 16], Tile<d>::kStride);
#pragma unroll
        for (int r = 0; r < kRowTiles; ++r) {
          wmma::mma_sync(products[r][c], a[r], b, products[r][c]);
        }
      }
      if (first_column == 0) {
        wmma::load_matrix_sync(b, &basis[step][0], 16);
#pragma unroll
        for (int r = 0; r < kRowTiles; ++r) wmma::mma_sync(sums[r], a[r], b, sums[r]);
      }
    }
    __syncthreads();
  }

  const int64_t slot = stream * out.chunks() + chunk;
  float* product = out.products + slot * d * d;
#pragma unroll
  for (int r = 0; r < kRowTiles; ++r) {
#pragma unroll
    for (int c = 0; c < kColumnTiles; ++c) {
      wmma::store_matrix_sync(product + (first_row + r) * 16 * d + (first_column + c) * 16,
                              products[r][c], d, wmma::mem_row_major);
    }
  }
  // The tile's memory is free now.
  static_assert(sizeof(tile) >= d * 16 * sizeof(float));
  auto* columns = reinterpret_cast<float*>(&tile);  // [d, 16]
  if (first_column == 0) {
#pragma unroll
    for (int r = 0; r < kRowTiles; ++r) {
      wmma::store_matrix_sync(columns + (first_row + r) * 16 * 16, sums[r], 16,
                              wmma::mem_row_major);
    }
  }
  __syncthreads();
  if (threadIdx.x < d) {
    const float* row = columns + threadIdx.x * 16;
    reinterpret_cast<float2*>(out.sums)[slot * d + threadIdx.x] = {row[1] + row[2], row[0]};
    out.shift[slot * d + threadIdx.x] = shift[threadIdx.x];
  }
}

// ---- joining

struct ChunkReader {
  const StreamChunks& chunks;
  int64_t stream;

  __device__ double count(int64_t chunk) const {
    return static_cast<double>(min(chunks.chunk, chunks.tokens - chunk * chunks.chunk));
  }
  __device__ int64_t place(int64_t chunk, int64_t i) const {
    return (stream * chunks.chunks() + chunk) * chunks.d + i;
  }
  __device__ double timed(int64_t chunk, int64_t i) const {  // sum of (x - shift)(t - middle)
    return chunks.sums[place(chunk, i) * 2];
  }
  __device__ double sum(int64_t chunk, int64_t i) const {  // of x - shift
    return chunks.sums[place(chunk, i) * 2 + 1];
  }
};

__device__ const BlockMoments& block_of(const JoinPass& pass, int64_t stream, int64_t& place) {
  const bool is_query = stream < pass.query_streams;
  place = is_query ? stream : stream - pass.query_streams;
  return is_query ? pass.queries : pass.keys;
}

__device__ void note_bad(const JoinPass& pass, int64_t stream, double value) {
  if (!isfinite(value)) {
    atomicMin(reinterpret_cast<long long*>(pass.bad) + stream,
              static_cast<long long>(pass.document));
  }
}

// A thread is one dimension of one stream: its mean in each chunk and in the document.
__global__ void document_means(JoinPass pass) {
  const int64_t stream = blockIdx.x;
  const ChunkReader reader{pass.chunks, stream};
  const int64_t i = threadIdx.x + static_cast<int64_t>(blockIdx.y) * blockDim.x;
  if (i >= pass.chunks.d) return;
  const double usual = 1 / static_cast<double>(pass.chunks.chunk);
  double total = 0;
#pragma unroll 4
  for (int64_t c = 0; c < pass.chunks.chunks(); ++c) {
    const double n = reader.count(c);
    const bool whole = n == static_cast<double>(pass.chunks.chunk);
    const double sum = reader.sum(c, i);
    const double mean = pass.chunks.shift[reader.place(c, i)] + (whole ? sum * usual : sum / n);
    pass.chunk_means[reader.place(c, i)] = mean;
    total += mean * n;
  }
  pass.means[stream * pass.chunks.d + i] = total / static_cast<double>(pass.chunks.tokens);
}

// A block is one row i of the products' upper triangle of one stream, and the row that makes the
// two as long as any other two; its threads are columns.
__global__ void join_products(JoinPass pass) {
  const int64_t d = pass.chunks.d;
  const int64_t stream = blockIdx.y;
  const ChunkReader reader{pass.chunks, stream};
  int64_t place = 0;
  const BlockMoments& block = block_of(pass, stream, place);
  const double* mean = pass.means + stream * d;
  const double* former = block.mean + place * block.stride_mean;
  const double tokens = static_cast<double>(pass.chunks.tokens);
  const double weight = pass.tokens * tokens / (pass.tokens + tokens);
  const double usual = 1 / static_cast<double>(pass.chunks.chunk);
  for (int64_t half = 0; half < 2; ++half) {
    const int64_t i = half == 0 ? blockIdx.x : d - 1 - blockIdx.x;
    if (half == 1 && i <= static_cast<int64_t>(blockIdx.x)) break;
    double* row = block.products + place * block.stride_products + i * d - i * (i - 1) / 2 - i;
    for (int64_t j = i + threadIdx.x; j < d; j += blockDim.x) {
      const double mean_i = mean[i];
      const double mean_j = mean[j];
      double total = 0;
#pragma unroll 4
      for (int64_t c = 0; c < pass.chunks.chunks(); ++c) {
        const double n = reader.count(c);
        const bool whole = n == static_cast<double>(pass.chunks.chunk);
        const double sums = reader.sum(c, i) * reader.sum(c, j);
        const double between = (pass.chunk_means[reader.place(c, i)] - mean_i) *
                               (pass.chunk_means[reader.place(c, j)] - mean_j);
        total += pass.chunks.products[reader.place(c, i) * d + j] -
                 (whole ? sums * usual : sums / n) + between * n;
      }
      note_bad(pass, stream, total);
      row[j] += total + (mean_i - former[i]) * (mean_j - former[j]) * weight;
    }
  }
}

// After join_products, which needs the former means.
__global__ void join_means(JoinPass pass) {
  const int64_t stream = blockIdx.x;
  const ChunkReader reader{pass.chunks, stream};
  int64_t place = 0;
  const BlockMoments& block = block_of(pass, stream, place);
  const double tokens = static_cast<double>(pass.chunks.tokens);
  const double all = pass.tokens + tokens;
  const double middle = (tokens - 1) / 2;
  const int64_t i = threadIdx.x + static_cast<int64_t>(blockIdx.y) * blockDim.x;
  if (i >= pass.chunks.d) return;
  const double mean = pass.means[stream * pass.chunks.d + i];
  double position = 0;
#pragma unroll 4
  for (int64_t c = 0; c < pass.chunks.chunks(); ++c) {
    const double n = reader.count(c);
    const double drift = static_cast<double>(c * pass.chunks.chunk) + (n - 1) / 2 - middle;
    position += reader.timed(c, i) + (pass.chunk_means[reader.place(c, i)] - mean) * drift * n;
  }
  note_bad(pass, stream, mean + position);
  double& whole_mean = block.mean[place * block.stride_mean + i];
  const double offset = mean - whole_mean;
  block.position[place * block.stride_mean + i] +=
      position + offset * (middle - pass.position_mean) * pass.tokens * tokens / all;
  whole_mean += offset * tokens / all;
}

}  // namespace

bool available() { return true; }

void run(const NormPass& pass, Stream stream) {
  if (pass.x.count() == 0) return;
  pass.type == Number::float32 ? choose_norm<float>(pass, native(stream))
                               : choose_norm<__nv_bfloat16>(pass, native(stream));
}

void run(const TurnPass& first, const TurnPass& second, Stream stream) {
  if (first.x.count() + second.x.count() == 0) return;
  first.type == Number::float32 ? choose_turn<float>(first, second, native(stream))
                                : choose_turn<__nv_bfloat16>(first, second, native(stream));
}

void run(const GatePass& pass, Stream stream) {
  if (pass.x.count() == 0) return;
  pass.type == Number::float32 ? choose_gate<float>(pass, native(stream))
                               : choose_gate<__nv_bfloat16>(pass, native(stream));
}

bool has_chunk_moments(int64_t d) { return d == 64 || d == 128; }

void chunk_moments(const Heads& queries, const Heads& keys, const StreamChunks& out,
                   Stream stream) {
  const dim3 grid(static_cast<unsigned>(out.chunks()), static_cast<unsigned>(out.streams));
  if (out.d == 128) {
    chunk_moments_kernel<128><<<grid, kMomentThreads, 0, native(stream)>>>(queries, keys, out);
  } else {
    chunk_moments_kernel<64><<<grid, kMomentThreads, 0, native(stream)>>>(queries, keys, out);
  }
  check_launch("chunk_moments");
}

void run(const JoinPass& pass, Stream stream) {
  constexpr unsigned kThreads = 128;
  constexpr unsigned kFew = 32;  // spreads few streams over many processors
  const auto d = static_cast<unsigned>(pass.chunks.d);
  const auto streams = static_cast<unsigned>(pass.chunks.streams);
  const dim3 by_dimension(streams, (d + kFew - 1) / kFew);
  document_means<<<by_dimension, kFew, 0, native(stream)>>>(pass);
  check_launch("document_means");
  join_products<<<dim3((d + 1) / 2, streams), kThreads, 0, native(stream)>>>(pass);
  check_launch("join_products");
  join_means<<<by_dimension, kFew, 0, native(stream)>>>(pass);
  check_launch("join_means");
}

}  // namespace ropewalk::cuda
