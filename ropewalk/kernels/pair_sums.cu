#include <cstdint>

#include "ropewalk/kernels/gpu_common.cuh"

namespace ropewalk::cuda {
namespace {

constexpr int kSlots = 16;  // two dimensions each
constexpr int kLanes = 32;  // tokens at a time

// What is summed of two dimensions a and b.
struct SlotSums {
  double a = 0;
  double b = 0;
  double aa = 0;
  double bb = 0;
  double ab = 0;
  double modulus = 0;

  __device__ void add(const SlotSums& other) {
    a += other.a;
    b += other.b;
    aa += other.aa;
    bb += other.bb;
    ab += other.ab;
    modulus += other.modulus;
  }
};

// A thread sums one slot over every kLanes-th token; float64, as sums about zero hide spreads.
template <typename T>
__global__ void __launch_bounds__(kSlots* kLanes) sum_pairs(PairSumsPass pass) {
  __shared__ SlotSums shared[kLanes][kSlots];
  const int64_t stream = blockIdx.y;
  const bool is_query = stream < pass.queries.count;
  const Heads& heads = is_query ? pass.queries : pass.keys;
  const PairSumsTo& to = is_query ? pass.to_queries : pass.to_keys;
  const int64_t place = is_query ? stream : stream - pass.queries.count;
  const T* x = static_cast<const T*>(heads.data) + heads.chosen[place] * heads.head_stride;

  const int64_t slot = static_cast<int64_t>(blockIdx.x) * kSlots + threadIdx.x;
  const int64_t turning = pass.turns / 2;
  const bool in_pair = slot < turning;
  const bool halves = in_pair && !pass.interleaved;
  const int64_t first = halves ? slot : 2 * slot;  // past the pairs: two neighbours
  const int64_t second = halves ? slot + turning : 2 * slot + 1;
  SlotSums sums;
  if (2 * slot < pass.d) {
#pragma unroll 4
    for (int64_t t = threadIdx.y; t < pass.tokens; t += kLanes) {
      const float a = to_float(x[t * heads.token_stride + first]);
      const float b = to_float(x[t * heads.token_stride + second]);
      const double wide_a = a;
      const double wide_b = b;
      sums.a += wide_a;
      sums.b += wide_b;
      sums.aa += wide_a * wide_a;
      sums.bb += wide_b * wide_b;
      sums.ab += wide_a * wide_b;
      sums.modulus += sqrtf(a * a + b * b);
    }
  }
  shared[threadIdx.y][threadIdx.x] = sums;
  for (int half = kLanes / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.y < half) {
      shared[threadIdx.y][threadIdx.x].add(shared[threadIdx.y + half][threadIdx.x]);
    }
  }
  if (threadIdx.y > 0 || 2 * slot >= pass.d) return;
  const SlotSums& all = shared[0][threadIdx.x];
  if (slot == 0 && to.tokens != nullptr) {
    to.tokens[place * to.stride_tokens] += static_cast<double>(pass.tokens);
  }
  to.sum[place * to.stride_sums + first] += all.a;
  to.sum[place * to.stride_sums + second] += all.b;
  to.squares[place * to.stride_sums + first] += all.aa;
  to.squares[place * to.stride_sums + second] += all.bb;
  if (to.pairs == nullptr || !in_pair) return;
  to.pairs[place * to.stride_pairs + slot] += all.ab;
  to.moduli[place * to.stride_pairs + slot] += all.modulus;
}

}  // namespace

void run(const PairSumsPass& pass, Stream stream) {
  const auto slots = static_cast<unsigned>((pass.d / 2 + kSlots - 1) / kSlots);
  const dim3 grid(slots, static_cast<unsigned>(pass.queries.count + pass.keys.count));
  const dim3 block(kSlots, kLanes);
  if (pass.type == Number::float32) {
    sum_pairs<float><<<grid, block, 0, native(stream)>>>(pass);
  } else {
    sum_pairs<__nv_bfloat16><<<grid, block, 0, native(stream)>>>(pass);
  }
  check_launch("sum_pairs");
}

}  // namespace ropewalk::cuda
