#include <cstdint>

#include "ropewalk/kernels/gpu_common.cuh"

namespace ropewalk::cuda {
namespace {

// ---- moments of a chunk
//
// Tensor cores multiply bfloat16 exactly and add in float32, so products of bfloat16 vectors need
// no more than a shift that stays bfloat16: where a dimension's mean exceeds its spread, the shift
// is that mean rounded to bfloat16, and x - shift is exact for every x within a factor of two of it
// (Sterbenz); elsewhere it is zero, and what squaring loses to the mean is a few bits.

constexpr int kTile = 64;  // tokens in shared memory at a time
constexpr int kMomentThreads = 256;

template <int d>
struct alignas(16) Tile {
  static constexpr int kStride = d + 8;  // keeps rows off each other's banks
  __nv_bfloat16 x[kTile][kStride];
};

// The mean far enough from zero, in spreads, to shift by it.
constexpr float kFarMean = 4;

// Four 8 x 8 matrices out of shared memory, each transposed: lane l names row l % 8 of matrix l
// / 8.
__device__ void load_transposed(unsigned (&to)[4], const __nv_bfloat16* row) {
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address));
}

// sum += a b, of 16 x 16 and 16 x 8.
__device__ void multiply_add(float (&sum)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

template <int d>
__global__ void __launch_bounds__(kMomentThreads, 2)
    chunk_moments_kernel(Heads queries, Heads keys, StreamChunks out) {
  static_assert(d == 64 || d == 128);
  __shared__ Tile<d> tile;
  __shared__ float shift[d];
  __shared__ float2 shared_sums[kMomentThreads];

  const int64_t stream = blockIdx.y;
  const int64_t chunk = blockIdx.x;
  const bool is_query = stream < queries.count;
  const int64_t head = is_query ? queries.chosen[stream] : keys.chosen[stream - queries.count];
  const int64_t token_stride = is_query ? queries.token_stride : keys.token_stride;
  const auto* source = static_cast<const __nv_bfloat16*>(is_query ? queries.data : keys.data) +
                       head * (is_query ? queries.head_stride : keys.head_stride);
  const int64_t begin = chunk * out.chunk;
  const int64_t end = min(begin + out.chunk, out.tokens);

  // A thread reads the same eight columns of every kRowStep-th token.
  using P = Pack<__nv_bfloat16, 8>;
  constexpr int kRowStep = kMomentThreads / (d / 8);
  constexpr int kPacks = kTile / kRowStep;
  const int column = threadIdx.x % (d / 8) * 8;
  const int first_token = threadIdx.x / (d / 8);
  P next[kPacks];
  const auto fetch = [&](int64_t from) {
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const int64_t token = from + first_token + p * kRowStep;
      if (token < end) {
        next[p] = *reinterpret_cast<const P*>(source + token * token_stride + column);
      }
    }
  };

  // The shift, from the chunk's first tile.
  fetch(begin);
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    *reinterpret_cast<P*>(&tile.x[first_token + p * kRowStep][column]) = next[p];
  }
  __syncthreads();
  constexpr int kShare = kMomentThreads / d;  // threads of a dimension
  const int dimension = threadIdx.x % d;
  const int share = threadIdx.x / d;
  {
    const int count = static_cast<int>(min(end - begin, static_cast<int64_t>(kTile)));
    const float reference = to_float(tile.x[0][dimension]);
    float2 away{0, 0};  // sums of x - reference and of its square
#pragma unroll 8
    for (int t = share; t < count; t += kShare) {
      const float x = to_float(tile.x[t][dimension]) - reference;
      away.x += x;
      away.y += x * x;
    }
    shared_sums[threadIdx.x] = away;
    __syncthreads();
    if (share == 0) {
      for (int s = 1; s < kShare; ++s) {
        away.x += shared_sums[s * d + dimension].x;
        away.y += shared_sums[s * d + dimension].y;
      }
      away.x /= static_cast<float>(count);
      away.y /= static_cast<float>(count);
      const float mean = reference + away.x;
      const float spread = sqrtf(fmaxf(away.y - away.x * away.x, 0));
      shift[dimension] = fabsf(mean) > kFarMean * spread ? to_float(__float2bfloat16_rn(mean)) : 0;
    }
    __syncthreads();
  }
  float about[8];
#pragma unroll
  for (int l = 0; l < 8; ++l) about[l] = shift[column + l];

  // Eight warps share the products: four along rows, two along columns. Those all below the
  // diagonal are left out.
  constexpr int kRowTiles = d / 64;     // of 16 rows
  constexpr int kColumnTiles = d / 32;  // of 8 columns, in pairs
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const int first_row = warp % 4 * (d / 4);
  const int first_column = warp / 4 * (d / 2);
  const bool needed = first_row < first_column + d / 2;
  float products[kRowTiles][2 * kColumnTiles][4] = {};
  const int a_token = lane % 8 + lane / 16 * 8;
  const int a_column = first_row + lane / 8 % 2 * 8;
  const int b_token = lane % 8 + lane / 8 % 2 * 8;
  const int b_column = first_column + lane / 16 * 8;

  const float middle = static_cast<float>(end - begin - 1) / 2;
  float2 sums{0, 0};  // of (x - shift)(t - middle), and of x - shift

  for (int64_t from = begin; from < end; from += kTile) {
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const int row = first_token + p * kRowStep;
      const bool inside = from + row < end;
      P shifted;
#pragma unroll
      for (int l = 0; l < 8; ++l) {
        shifted.at[l] = __float2bfloat16_rn(inside ? to_float(next[p].at[l]) - about[l] : 0);
      }
      *reinterpret_cast<P*>(&tile.x[row][column]) = shifted;
    }
    __syncthreads();
    if (from + kTile < end) fetch(from + kTile);
    if (needed) {
#pragma unroll
      for (int step = 0; step < kTile; step += 16) {
        unsigned a[kRowTiles][4];
#pragma unroll
        for (int r = 0; r < kRowTiles; ++r) {
          load_transposed(a[r], &tile.x[step + a_token][a_column + r * 16]);
        }
#pragma unroll
        for (int c = 0; c < kColumnTiles; ++c) {
          unsigned b[4];
          load_transposed(b, &tile.x[step + b_token][b_column + c * 16]);
#pragma unroll
          for (int r = 0; r < kRowTiles; ++r) {
            multiply_add(products[r][2 * c], a[r], b[0], b[1]);
            multiply_add(products[r][2 * c + 1], a[r], b[2], b[3]);
          }
        }
      }
    }
    const float offset = static_cast<float>(from - begin) - middle;
#pragma unroll 8
    for (int t = share; t < kTile; t += kShare) {
      const float x = to_float(tile.x[t][dimension]);
      sums.x += x * (static_cast<float>(t) + offset);
      sums.y += x;
    }
    __syncthreads();
  }

  const int64_t slot = stream * out.chunks() + chunk;
  if (needed) {
    float* product = out.products + slot * d * d;
#pragma unroll
    for (int r = 0; r < kRowTiles; ++r) {
#pragma unroll
      for (int c = 0; c < 2 * kColumnTiles; ++c) {
        const int row = first_row + r * 16 + lane / 4;
        const int at = first_column + c * 8 + lane % 4 * 2;
        *reinterpret_cast<float2*>(product + row * d + at) = {products[r][c][0], products[r][c][1]};
        *reinterpret_cast<float2*>(product + (row + 8) * d + at) = {products[r][c][2],
                                                                    products[r][c][3]};
      }
    }
  }
  shared_sums[threadIdx.x] = sums;
  __syncthreads();
  if (share == 0) {
    for (int s = 1; s < kShare; ++s) {
      sums.x += shared_sums[s * d + dimension].x;
      sums.y += shared_sums[s * d + dimension].y;
    }
    reinterpret_cast<float2*>(out.sums)[slot * d + dimension] = sums;
    out.shift[slot * d + dimension] = shift[dimension];
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
  // Sums of (x - shift)(t - middle), and of x - shift.
  __device__ float2 sums(int64_t chunk, int64_t i) const {
    return reinterpret_cast<const float2*>(chunks.sums)[place(chunk, i)];
  }
  __device__ double mean(int64_t chunk, int64_t i, double sum, double share) const {
    return chunks.shift[place(chunk, i)] + sum * share;
  }
};

// 1 / n of a chunk, where all but the last are alike: divisions in float64 are slow.
struct Shares {
  double usual;
  double last;
  __device__ explicit Shares(const StreamChunks& chunks)
      : usual(1 / static_cast<double>(chunks.chunk)),
        last(1 / static_cast<double>(chunks.tokens - (chunks.chunks() - 1) * chunks.chunk)) {}
  __device__ double of(int64_t chunk, int64_t chunks) const {
    return chunk + 1 < chunks ? usual : last;
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

// Row and column of a place in a packed upper triangle.
__device__ void unpack(int64_t place, int64_t d, int64_t& i, int64_t& j) {
  const auto wide = static_cast<float>(2 * d + 1);
  i = static_cast<int64_t>((wide - sqrtf(wide * wide - 8 * static_cast<float>(place))) / 2);
  const auto start = [d](int64_t row) { return row * d - row * (row - 1) / 2; };
  while (i > 0 && start(i) > place) --i;  // the root was rounded
  while (start(i + 1) <= place) ++i;
  j = i + place - start(i);
}

// A thread is one element of a stream's products. About a reference r, here the block's former
// mean, sums of n (m_i - r_i)(m_j - r_j) over chunks become those about the joint mean by taking
// away A_i A_j / (all tokens), with A the sum of n (m - r).
__global__ void join_products(JoinPass pass) {
  const int64_t d = pass.chunks.d;
  const int64_t stream = blockIdx.y;
  const int64_t element = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (element >= d * (d + 1) / 2) return;
  int64_t i = 0;
  int64_t j = 0;
  unpack(element, d, i, j);
  const ChunkReader reader{pass.chunks, stream};
  int64_t place = 0;
  const BlockMoments& block = block_of(pass, stream, place);
  const Shares shares(pass.chunks);
  const int64_t chunks = pass.chunks.chunks();
  const bool first = pass.tokens == 0;  // then the first chunk's means are the reference
  const double reference_i = first ? reader.mean(0, i, reader.sums(0, i).y, shares.of(0, chunks))
                                   : block.mean[place * block.stride_mean + i];
  const double reference_j = first ? reader.mean(0, j, reader.sums(0, j).y, shares.of(0, chunks))
                                   : block.mean[place * block.stride_mean + j];
  double total = 0;
  double away_i = 0;
  double away_j = 0;
#pragma unroll 4
  for (int64_t c = 0; c < chunks; ++c) {
    const double n = reader.count(c);
    const double share = shares.of(c, chunks);
    const double sum_i = reader.sums(c, i).y;
    const double sum_j = reader.sums(c, j).y;
    const double offset_i = reader.mean(c, i, sum_i, share) - reference_i;
    const double offset_j = reader.mean(c, j, sum_j, share) - reference_j;
    total += pass.chunks.products[reader.place(c, i) * d + j] - sum_i * sum_j * share +
             offset_i * offset_j * n;
    away_i += offset_i * n;
    away_j += offset_j * n;
  }
  total -= away_i * away_j / (pass.tokens + static_cast<double>(pass.chunks.tokens));
  note_bad(pass, stream, total);
  block.products[place * block.stride_products + element] += total;
}

// After join_products, which needs the former means.
__global__ void join_means(JoinPass pass) {
  const int64_t stream = blockIdx.x;
  const ChunkReader reader{pass.chunks, stream};
  int64_t place = 0;
  const BlockMoments& block = block_of(pass, stream, place);
  const Shares shares(pass.chunks);
  const int64_t chunks = pass.chunks.chunks();
  const double tokens = static_cast<double>(pass.chunks.tokens);
  const double all = pass.tokens + tokens;
  const double middle = (tokens - 1) / 2;
  const int64_t i = threadIdx.x + static_cast<int64_t>(blockIdx.y) * blockDim.x;
  if (i >= pass.chunks.d) return;
  const double reference = reader.mean(0, i, reader.sums(0, i).y, shares.of(0, chunks));
  double position = 0;
  double away = 0;
#pragma unroll 4
  for (int64_t c = 0; c < chunks; ++c) {
    const double n = reader.count(c);
    const float2 sums = reader.sums(c, i);
    const double offset = reader.mean(c, i, sums.y, shares.of(c, chunks)) - reference;
    // Drifts of all tokens add up to nothing, so any reference serves.
    const double drift = static_cast<double>(c * pass.chunks.chunk) + (n - 1) / 2 - middle;
    position += sums.x + offset * drift * n;
    away += offset * n;
  }
  const double mean = reference + away / tokens;
  note_bad(pass, stream, mean + position);
  double& whole_mean = block.mean[place * block.stride_mean + i];
  const double offset = mean - whole_mean;
  block.position[place * block.stride_mean + i] +=
      position + offset * (middle - pass.position_mean) * pass.tokens * tokens / all;
  whole_mean += offset * tokens / all;
}

}  // namespace

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
