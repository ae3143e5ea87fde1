#include <cstdint>

#include "ropewalk/kernels/gpu/chunk_reader.cuh"

namespace ropewalk::cuda {
namespace {

// Tensor cores multiply bfloat16 exactly and add in float32. Where a dimension's mean exceeds its
// spread, that mean, rounded to bfloat16, is subtracted as a shift; elsewhere the shift is zero,
// and squaring loses only a few bits to the mean. x - shift is exact in bfloat16 for every x within
// a factor of two of the shift (Sterbenz); for other vectors, above all attention sinks, the
// rounding error is multiplied separately and added.

constexpr int kTile = 64;  // tokens in shared memory at a time
constexpr int kMomentThreads = 256;

template <int d>
struct alignas(16) Tile {
  static constexpr int kStride = d + 8;  // keeps rows in different banks
  __nv_bfloat16 x[kTile][kStride];
};

// A mean that many spreads away from zero is used as a shift.
constexpr float kFarMean = 6;

// Loads four 8 x 8 matrices from shared memory, each transposed: lane l names row l % 8 of matrix l
// / 8.
__device__ void load_transposed(unsigned (&to)[4], const __nv_bfloat16* row) {
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address));
}

// sum += a b, for 16 x 16 and 16 x 8.
__device__ void multiply_add(float (&sum)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// With `lengths`, computes lengths of pairs instead of sums with time.
template <int d, bool lengths>
__global__ void __launch_bounds__(kMomentThreads, 2)
    chunk_moments_kernel(StridedHeads queries, StridedHeads keys, StreamChunks out) {
  static_assert(d == 64 || d == 128);
  __shared__ Tile<d> tile;
  __shared__ Tile<d> rest;  // the error of rounding to bfloat16
  __shared__ float shift[d];
  __shared__ float4 shared_sums[kMomentThreads];
  __shared__ float time[kTile];

  const int64_t stream = blockIdx.y;
  const int64_t chunk = blockIdx.x;
  const bool is_query = stream < queries.count;
  const int64_t head = is_query ? queries.chosen[stream] : keys.chosen[stream - queries.count];
  const int64_t token_stride = is_query ? queries.token_stride : keys.token_stride;
  const int64_t begin = chunk * out.chunk;
  const int tokens = static_cast<int>(min(out.chunk, out.tokens - begin));

  // A thread reads the same eight columns of every kRowStep-th token.
  using P = Pack<__nv_bfloat16, 8>;
  constexpr int kRowStep = kMomentThreads / (d / 8);
  constexpr int kPacks = kTile / kRowStep;
  const int column = threadIdx.x % (d / 8) * 8;
  const int first_token = threadIdx.x / (d / 8);
  const auto* source = static_cast<const __nv_bfloat16*>(is_query ? queries.data : keys.data) +
                       head * (is_query ? queries.head_stride : keys.head_stride) +
                       begin * token_stride + column;
  P next[kPacks];
  const auto fetch = [&](int from) {
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const int token = from + first_token + p * kRowStep;
      if (token < tokens) next[p] = *reinterpret_cast<const P*>(source + token * token_stride);
    }
  };

  // The shift comes from the chunk's first tile.
  fetch(0);
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    *reinterpret_cast<P*>(&tile.x[first_token + p * kRowStep][column]) = next[p];
  }
  __syncthreads();
  bool far = false;  // whether the dimension is shifted
  {
    constexpr int kHelpers = kMomentThreads / d;  // threads per dimension
    const int dimension = threadIdx.x % d;
    const int helper = threadIdx.x / d;
    __shared__ float2 shared_best[kMomentThreads];
    // The mean comes from the group of tokens of the first tile that spreads least: an attention
    // sink in the group would hide how far the others are from zero.
    constexpr int kGroup = 8;
    constexpr int kOwn = kTile / kHelpers;
    const int count = min(tokens, kTile);
    float2 best{0, INFINITY};  // mean and variance
    for (int first = helper * kOwn; first < (helper + 1) * kOwn; first += kGroup) {
      const int size = min(kGroup, count - first);
      if (size < min(kGroup / 2, count)) break;
      const float reference = to_float(tile.x[first][dimension]);
      float sum = 0;
      float squares = 0;
      for (int t = 0; t < size; ++t) {
        const float x = to_float(tile.x[first + t][dimension]) - reference;
        sum += x;
        squares += x * x;
      }
      const float mean = sum / static_cast<float>(size);
      const float variance = fmaxf(squares / static_cast<float>(size) - mean * mean, 0);
      if (variance < best.y) best = {reference + mean, variance};
    }
    shared_best[threadIdx.x] = best;
    __syncthreads();
    if (helper == 0) {
      for (int s = 1; s < kHelpers; ++s) {
        const float2 other = shared_best[s * d + dimension];
        if (other.y < best.y) best = other;
      }
      far = fabsf(best.x) > kFarMean * sqrtf(best.y);
      shift[dimension] = far ? to_float(__float2bfloat16_rn(best.x)) : 0;
    }
  }
  const bool shifts = __syncthreads_or(far);
  // Eight warps share the products: four along rows, two along columns. Tiles that are completely
  // below the diagonal are left out.
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

  constexpr int kHelpers = kMomentThreads / (d / 2);  // threads per two dimensions
  const int two = threadIdx.x % (d / 2);
  const int helper = threadIdx.x / (d / 2);
  PairDimensions own{2 * two, 2 * two + 1};  // the two dimensions of this thread
  if (lengths && two < out.turns / 2) own = pair_dimensions(out, two);
  const auto both = [&](const Tile<d>& of, int t) -> float2 {
    if constexpr (lengths) {
      return {to_float(of.x[t][own.first]), to_float(of.x[t][own.second])};
    } else {
      return __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162*>(&of.x[t][2 * two]));
    }
  };
  // Sums of x - shift, then of its products with time, or of the pair's lengths.
  float4 sums{0, 0, 0, 0};

  const auto multiply = [&](const Tile<d>& first, const Tile<d>& second) {
#pragma unroll
    for (int step = 0; step < kTile; step += 16) {
      unsigned a[kRowTiles][4];
#pragma unroll
      for (int r = 0; r < kRowTiles; ++r) {
        load_transposed(a[r], &first.x[step + a_token][a_column + r * 16]);
      }
#pragma unroll
      for (int c = 0; c < kColumnTiles; ++c) {
        unsigned b[4];
        load_transposed(b, &second.x[step + b_token][b_column + c * 16]);
#pragma unroll
        for (int r = 0; r < kRowTiles; ++r) {
          multiply_add(products[r][2 * c], a[r], b[0], b[1]);
          multiply_add(products[r][2 * c + 1], a[r], b[2], b[3]);
        }
      }
    }
  };

  for (int from = 0; from < tokens; from += kTile) {
    bool rounded = false;
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const int row = first_token + p * kRowStep;
      const bool inside = from + row < tokens;
      if (!shifts) {
        *reinterpret_cast<P*>(&tile.x[row][column]) = inside ? next[p] : P{};
        continue;
      }
      P shifted;
      P left;
#pragma unroll
      for (int l = 0; l < 8; ++l) {
        const float exact = inside ? to_float(next[p].at[l]) - shift[column + l] : 0;
        shifted.at[l] = __float2bfloat16_rn(exact);
        const float lost = exact - to_float(shifted.at[l]);
        left.at[l] = __float2bfloat16_rn(lost);
        rounded = rounded || lost != 0;
      }
      *reinterpret_cast<P*>(&tile.x[row][column]) = shifted;
      *reinterpret_cast<P*>(&rest.x[row][column]) = left;
    }
    if (!lengths && threadIdx.x < kTile) {
      const int token = from + static_cast<int>(threadIdx.x);
      time[threadIdx.x] = token < tokens ? out.time[begin + token] : 0;
    }
    const bool any_rounded = __syncthreads_or(rounded);
#pragma unroll 2
    for (int t = helper; t < kTile; t += kHelpers) {
      float2 x = both(tile, t);
      if (any_rounded) {
        const float2 more = both(rest, t);
        x = {x.x + more.x, x.y + more.y};
      }
      sums.x += x.x;
      sums.y += x.y;
      if (lengths) {
        if (shifts) {
          const bool inside = from + t < tokens;
          x = {inside ? x.x + shift[own.first] : 0, inside ? x.y + shift[own.second] : 0};
        }
        sums.z += length(x.x, x.y);
      } else {
        sums.z += x.x * time[t];
        sums.w += x.y * time[t];
      }
    }
    if (from + kTile < tokens) fetch(from + kTile);
    if (needed) {
      multiply(tile, tile);
      if (any_rounded) {  // the product of two rounding errors is below float32's precision
        multiply(tile, rest);
        multiply(rest, tile);
      }
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
  if (helper == 0) {
    for (int s = 1; s < kHelpers; ++s) {
      const float4 other = shared_sums[s * (d / 2) + two];
      sums = {sums.x + other.x, sums.y + other.y, sums.z + other.z, sums.w + other.w};
    }
    auto* to = reinterpret_cast<float2*>(out.sums) + slot * d;
    to[own.first] = {lengths ? 0 : sums.z, sums.x};
    to[own.second] = {lengths ? 0 : sums.w, sums.y};
    out.shift[slot * d + own.first] = shift[own.first];
    out.shift[slot * d + own.second] = shift[own.second];
    if (lengths && two < out.turns / 2) out.moduli[slot * (out.turns / 2) + two] = sums.z;
  }
}

}  // namespace

bool has_chunk_moments(int64_t d) { return d == 64 || d == 128; }

void chunk_moments(const StridedHeads& queries, const StridedHeads& keys, const StreamChunks& out,
                   Stream stream) {
  const auto launch = [&](auto* kernel) {
    const dim3 grid(static_cast<unsigned>(out.chunks()), static_cast<unsigned>(out.streams));
    kernel<<<grid, kMomentThreads, 0, native(stream)>>>(queries, keys, out);
    check_launch("chunk_moments");
  };
  if (out.moduli != nullptr) {
    launch(out.d == 128 ? chunk_moments_kernel<128, true> : chunk_moments_kernel<64, true>);
  } else {
    launch(out.d == 128 ? chunk_moments_kernel<128, false> : chunk_moments_kernel<64, false>);
  }
}

}  // namespace ropewalk::cuda
