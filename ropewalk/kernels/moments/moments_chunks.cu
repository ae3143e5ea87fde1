#include <cstdint>

#include "ropewalk/kernels/gpu/chunk_reader.cuh"
#include "ropewalk/kernels/moments/chunk_tile.cuh"

namespace ropewalk::cuda {
namespace {

// Tensor cores multiply bfloat16 exactly and add in float32. Where a dimension's mean exceeds its
// spread, that mean, rounded to bfloat16, is subtracted as a shift; elsewhere the shift is zero,
// and squaring loses only a few bits to the mean. x - shift is exact in bfloat16 for every x within
// a factor of two of the shift (Sterbenz); for other vectors, above all attention sinks, the
// rounding error is multiplied separately and added.

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

// The vectors of a stream's head, from the token `begin` on.
struct HeadTokens {
  const __nv_bfloat16* first;
  int64_t stride;

  __device__ __forceinline__ HeadTokens(const StridedHeads& queries, const StridedHeads& keys,
                                        int64_t stream, int64_t begin) {
    const bool is_query = stream < queries.count;
    const int64_t head = is_query ? queries.chosen[stream] : keys.chosen[stream - queries.count];
    stride = is_query ? queries.token_stride : keys.token_stride;
    first = static_cast<const __nv_bfloat16*>(is_query ? queries.data : keys.data) +
            head * (is_query ? queries.head_stride : keys.head_stride) + begin * stride;
  }
};

// Eight warps share the products: four along rows, two along columns.
template <int d>
struct StudyProducts {
  static constexpr int kRowTiles = d / 64;     // of 16 rows
  static constexpr int kColumnTiles = d / 32;  // of 8 columns, in pairs
  using Registers = float[kRowTiles][2 * kColumnTiles][4];

  // What a lane loads of both factors, and where the products of its warp begin.
  struct Lane {
    int number;
    int first_row, first_column;
    int a_token, a_column;
    int b_token, b_column;
  };

  __device__ static __forceinline__ Lane lane_of(unsigned thread) {
    const int warp = thread / 32;
    const int lane = thread % 32;
    const int first_row = warp % 4 * (d / 4);
    const int first_column = warp / 4 * (d / 2);
    return {lane,
            first_row,
            first_column,
            lane % 8 + lane / 16 * 8,
            first_row + lane / 8 % 2 * 8,
            lane % 8 + lane / 8 % 2 * 8,
            first_column + lane / 16 * 8};
  }

  __device__ static __forceinline__ void add(Registers& products, const Tile<d>& first,
                                             const Tile<d>& second, const Lane& lane) {
#pragma unroll
    for (int step = 0; step < kTile; step += 16) {
      unsigned a[kRowTiles][4];
#pragma unroll
      for (int r = 0; r < kRowTiles; ++r) {
        load_transposed(a[r], &first.x[step + lane.a_token][lane.a_column + r * 16]);
      }
#pragma unroll
      for (int c = 0; c < kColumnTiles; ++c) {
        unsigned b[4];
        load_transposed(b, &second.x[step + lane.b_token][lane.b_column + c * 16]);
#pragma unroll
        for (int r = 0; r < kRowTiles; ++r) {
          multiply_add(products[r][2 * c], a[r], b[0], b[1]);
          multiply_add(products[r][2 * c + 1], a[r], b[2], b[3]);
        }
      }
    }
  }

  __device__ static __forceinline__ void write(float* product, const Registers& products,
                                               const Lane& lane) {
#pragma unroll
    for (int r = 0; r < kRowTiles; ++r) {
#pragma unroll
      for (int c = 0; c < 2 * kColumnTiles; ++c) {
        const int row = lane.first_row + r * 16 + lane.number / 4;
        const int at = lane.first_column + c * 8 + lane.number % 4 * 2;
        *reinterpret_cast<float2*>(product + row * d + at) = {products[r][c][0], products[r][c][1]};
        *reinterpret_cast<float2*>(product + (row + 8) * d + at) = {products[r][c][2],
                                                                    products[r][c][3]};
      }
    }
  }
};

// Sums over tokens of two dimensions: of x - shift, then of its products with time, or of lengths
// of the pair.
template <int d, bool lengths>
struct Sums {
  static constexpr int kHelpers = kMomentThreads / (d / 2);  // threads per two dimensions

  // Of a thread.
  struct Own {
    int two;
    int helper;
    PairDimensions pair;  // the two dimensions of this thread
  };

  __device__ static __forceinline__ Own own_of(unsigned thread, const StreamChunks& out) {
    const int two = thread % (d / 2);
    Own own{two, static_cast<int>(thread / (d / 2)), {2 * two, 2 * two + 1}};
    if (lengths && two < out.turns / 2) own.pair = pair_dimensions(out, two);
    return own;
  }

  __device__ static __forceinline__ float2 both(const Tile<d>& of, int t, const Own& at) {
    if constexpr (lengths) {
      return {to_float(of.x[t][at.pair.first]), to_float(of.x[t][at.pair.second])};
    } else {
      return __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162*>(&of.x[t][2 * at.two]));
    }
  }

  __device__ static __forceinline__ void add(float4& sums, const Tile<d>& tile, const Tile<d>& rest,
                                             bool any_rounded, const float (&shift)[d], bool shifts,
                                             const float (&time)[kTile], const Own& at, int from,
                                             int tokens) {
#pragma unroll 2
    for (int t = at.helper; t < kTile; t += kHelpers) {
      float2 x = both(tile, t, at);
      if (any_rounded) {
        const float2 more = both(rest, t, at);
        x = {x.x + more.x, x.y + more.y};
      }
      sums.x += x.x;
      sums.y += x.y;
      if (lengths) {
        if (shifts) {
          const bool inside = from + t < tokens;
          x = {inside ? x.x + shift[at.pair.first] : 0, inside ? x.y + shift[at.pair.second] : 0};
        }
        sums.z += length(x.x, x.y);
      } else {
        sums.z += x.x * time[t];
        sums.w += x.y * time[t];
      }
    }
  }

  // Those of all helpers.
  __device__ static __forceinline__ void write(const StreamChunks& out, int64_t slot, float4 sums,
                                               const float4 (&shared_sums)[kMomentThreads],
                                               const float (&shift)[d], const Own& at) {
    for (int s = 1; s < kHelpers; ++s) {
      const float4 other = shared_sums[s * (d / 2) + at.two];
      sums = {sums.x + other.x, sums.y + other.y, sums.z + other.z, sums.w + other.w};
    }
    auto* to = reinterpret_cast<float2*>(out.sums) + slot * d;
    to[at.pair.first] = {lengths ? 0 : sums.z, sums.x};
    to[at.pair.second] = {lengths ? 0 : sums.w, sums.y};
    out.shift[slot * d + at.pair.first] = shift[at.pair.first];
    out.shift[slot * d + at.pair.second] = shift[at.pair.second];
    if (lengths && at.two < out.turns / 2) out.moduli[slot * (out.turns / 2) + at.two] = sums.z;
  }
};

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
  const int64_t begin = chunk * out.chunk;
  const int tokens = static_cast<int>(min(out.chunk, out.tokens - begin));
  const typename Packs<d>::Own read{static_cast<int>(threadIdx.x / (d / 8)),
                                    static_cast<int>(threadIdx.x % (d / 8) * 8)};
  const HeadTokens head(queries, keys, stream, begin);
  const auto* source = head.first + read.column;
  typename Packs<d>::Row next;
  Packs<d>::fetch(next, source, head.stride, read.first_token, tokens);
  Packs<d>::put(tile, next, read);
  __syncthreads();
  __shared__ float2 shared_best[kMomentThreads];
  const bool far = find_shift(shift, shared_best, tile, tokens);
  const bool shifts = __syncthreads_or(far);
  const typename StudyProducts<d>::Lane lane = StudyProducts<d>::lane_of(threadIdx.x);
  // Products all below the diagonal are left out.
  const bool needed = lane.first_row < lane.first_column + d / 2;
  typename StudyProducts<d>::Registers products = {};

  const typename Sums<d, lengths>::Own own = Sums<d, lengths>::own_of(threadIdx.x, out);
  float4 sums{0, 0, 0, 0};

  for (int from = 0; from < tokens; from += kTile) {
    const bool rounded = Packs<d>::put_shifted(tile, rest, next, read, shift, shifts, from, tokens);
    if (!lengths && threadIdx.x < kTile) {
      const int token = from + static_cast<int>(threadIdx.x);
      time[threadIdx.x] = token < tokens ? out.time[begin + token] : 0;
    }
    const bool any_rounded = __syncthreads_or(rounded);
    Sums<d, lengths>::add(sums, tile, rest, any_rounded, shift, shifts, time, own, from, tokens);
    if (from + kTile < tokens)
      Packs<d>::fetch(next, source, head.stride, from + kTile + read.first_token, tokens);
    if (needed) {
      StudyProducts<d>::add(products, tile, tile, lane);
      if (any_rounded) {  // the product of two rounding errors is below float32's precision
        StudyProducts<d>::add(products, tile, rest, lane);
        StudyProducts<d>::add(products, rest, tile, lane);
      }
    }
    __syncthreads();
  }

  const int64_t slot = stream * out.chunks() + chunk;
  if (needed) StudyProducts<d>::write(out.products + slot * d * d, products, lane);
  shared_sums[threadIdx.x] = sums;
  __syncthreads();
  if (own.helper == 0) Sums<d, lengths>::write(out, slot, sums, shared_sums, shift, own);
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
