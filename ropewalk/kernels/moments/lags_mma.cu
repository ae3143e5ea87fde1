#include <cstdint>

#include "ropewalk/kernels/moments/lags.cuh"

namespace ropewalk::cuda {
namespace {

// lag_tiles for bfloat16, by tensor cores: sixteen rows are `heads` queries of each of 16 / heads
// tokens, and eight columns are the keys of as many tokens at one lag or two. Of the products of
// all rows and columns, each row needs one column per lag. The order of dimensions does not matter,
// so a lane takes eight neighbours at a time, and four lanes lie side by side.
template <int d, int heads>
struct MmaTile {
  static constexpr int kTokens = kWarp / 2 / heads;  // 8 or 4
  static constexpr int kLags = 8 / kTokens;          // lags at once: 1 or 2
  static constexpr int kPacks = d / 4 / 8;           // packs of eight numbers per lane
  using Row = uint4[kPacks];

  __device__ static void load(Row& to, const __nv_bfloat16* row, int quarter) {
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      to[p] =
          row == nullptr ? uint4{0, 0, 0, 0} : reinterpret_cast<const uint4*>(row)[p * 4 + quarter];
    }
  }

  // c += a bᵀ over sixteen dimensions.
  __device__ static void multiply(float (&c)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3,
                                  unsigned b0, unsigned b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
  }

  // Two sums, so that neither waits for the other.
  __device__ static void multiply(float (&c)[4], const Row& upper, const Row& lower,
                                  const Row& keys) {
    float other[4] = {};
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      multiply(c, upper[p].x, lower[p].x, upper[p].y, lower[p].y, keys[p].x, keys[p].y);
      multiply(other, upper[p].z, lower[p].z, upper[p].w, lower[p].w, keys[p].z, keys[p].w);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) c[i] += other[i];
  }
};

template <int d, int heads>
__global__ void __launch_bounds__(kWarp* kWarps, 2) lag_tiles_mma(LagsPass pass) {
  using Tile = MmaTile<d, heads>;
  constexpr int kTokens = Tile::kTokens;
  constexpr int kSteps = 9;  // steps whose sums are held at a time
  __shared__ double shared[kWarps][kSteps][heads][Tile::kLags][2];
  const int lane = threadIdx.x;
  const int warp = threadIdx.y;
  const int row = lane / 4;  // this lane's rows are row and row + 8; also its column of keys
  const int quarter = lane % 4;
  const int token = row % kTokens;
  // Whether columns 2 quarter and 2 quarter + 1 of a row are its token's.
  const bool wanted = quarter % (kTokens / 2) == token / 2;
  const bool odd = token % 2 == 1;
  const int upper_head = row / kTokens;
  const int lower_head = upper_head + 8 / kTokens;
  const int64_t kv_head = pass.keys.chosen[blockIdx.y];
  const auto* keys =
      static_cast<const __nv_bfloat16*>(pass.keys.data) + kv_head * pass.keys.head_stride;
  const QueryHeadRange readers = query_heads_of(pass, kv_head);
  const int64_t begin = static_cast<int64_t>(blockIdx.x) * pass.tile;
  const int64_t end = min(begin + pass.tile, pass.tokens);
  const int steps = (pass.lag_count + Tile::kLags - 1) / Tile::kLags;
  for (int64_t batch = 0; batch < readers.count; batch += heads) {
    const auto query = [&](int head, int64_t t) -> const __nv_bfloat16* {
      if (batch + head >= readers.count || t >= end) return nullptr;
      return static_cast<const __nv_bfloat16*>(pass.queries.data) +
             pass.queries.chosen[readers.first + batch + head] * pass.queries.head_stride +
             t * pass.queries.token_stride;
    };
    for (int from = 0; from < steps; from += kSteps) {
      float sum[kSteps][2] = {};
      float squares[kSteps][2] = {};
      for (int64_t t = begin + warp * kTokens; t < end; t += kWarps * kTokens) {
        typename Tile::Row upper, lower;
        Tile::load(upper, query(upper_head, t + token), quarter);
        Tile::load(lower, query(lower_head, t + token), quarter);
#pragma unroll
        for (int s = 0; s < kSteps; ++s) {
          const int lag = (from + s) * Tile::kLags + row / kTokens;  // lag of this lane's key
          const bool there = lag < pass.lag_count && t + token < end;
          const int64_t position = there ? t + token - pass.lags[lag] : -1;
          if (from + s >= steps) continue;
          typename Tile::Row some;
          Tile::load(some, position < 0 ? nullptr : keys + position * pass.keys.token_stride,
                     quarter);
          float c[4] = {};
          Tile::multiply(c, upper, lower, some);
          const float first = wanted ? (odd ? c[1] : c[0]) : 0;
          const float second = wanted ? (odd ? c[3] : c[2]) : 0;
          sum[s][0] += first;
          squares[s][0] += first * first;
          sum[s][1] += second;
          squares[s][1] += second * second;
        }
      }
      __syncthreads();
#pragma unroll
      for (int s = 0; s < kSteps; ++s) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          float both[2] = {sum[s][half], squares[s][half]};
          // Adds over the tokens of rows, and over the columns of one lag.
#pragma unroll
          for (float& one : both) {
            for (int bit = 1; bit < kTokens / 2; bit *= 2) {
              one += __shfl_xor_sync(0xffffffffU, one, bit);
            }
            for (int bit = 4; bit < 4 * kTokens; bit *= 2) {
              one += __shfl_xor_sync(0xffffffffU, one, bit);
            }
          }
          if (token != 0 || quarter % (kTokens / 2) != 0) continue;
          double(&to)[2] =
              shared[warp][s][half == 0 ? upper_head : lower_head][quarter / (kTokens / 2)];
          to[0] = both[0];
          to[1] = both[1];
        }
      }
      __syncthreads();
      constexpr int kSums = kSteps * heads * Tile::kLags * 2;
      for (int i = warp * kWarp + lane; i < kSums; i += kWarp * kWarps) {
        const int which = i % 2;
        const int sub = i / 2 % Tile::kLags;
        const int head = i / 2 / Tile::kLags % heads;
        const int s = i / 2 / Tile::kLags / heads;
        const int lag = (from + s) * Tile::kLags + sub;
        if (lag >= pass.lag_count || batch + head >= readers.count) continue;
        double all = 0;
        for (int w = 0; w < kWarps; ++w) all += shared[w][s][head][sub][which];
        const int64_t out = blockIdx.x * pass.queries.count + readers.first + batch + head;
        pass.parts[(out * pass.lag_count + lag) * 2 + which] = all;
      }
    }
  }
}

template <int d>
void launch_mma(const LagsPass& pass, cudaStream_t stream) {
  if (pass.group <= 2) {
    lag_tiles_mma<d, 2><<<tiles(pass), dim3(kWarp, kWarps), 0, stream>>>(pass);
  } else {
    lag_tiles_mma<d, 4><<<tiles(pass), dim3(kWarp, kWarps), 0, stream>>>(pass);
  }
  check_launch("lag_tiles_mma");
}

}  // namespace

bool suits_tensor_cores(const LagsPass& pass) {
  const auto fits = [](const StridedHeads& heads) {
    return heads.head_stride % 8 == 0 && heads.token_stride % 8 == 0 &&
           reinterpret_cast<uintptr_t>(heads.data) % 16 == 0;
  };
  return pass.type == Number::bfloat16 && (pass.d == 64 || pass.d == 128) && fits(pass.queries) &&
         fits(pass.keys);
}

void lag_tiles_by_tensor_cores(const LagsPass& pass, cudaStream_t stream) {
  pass.d == 64 ? launch_mma<64>(pass, stream) : launch_mma<128>(pass, stream);
}

}  // namespace ropewalk::cuda
