#include <algorithm>
#include <cstdint>

#include "ropewalk/kernels/gpu/gpu_common.cuh"

namespace ropewalk::cuda {
namespace {

bool divides(int64_t by, std::initializer_list<int64_t> values) {
  return std::all_of(values.begin(), values.end(), [&](int64_t v) { return v % by == 0; });
}
bool aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

template <typename T>
__device__ T* row(const StridedRows& rows, int64_t i) {
  return static_cast<T*>(rows.data) + i / rows.inner * rows.outer_stride +
         i % rows.inner * rows.inner_stride;
}

// ---- norm

constexpr int kNormThreads = 256;

// blockDim.x lanes share a row (a power of two from 32), and blockDim.y rows share a block.
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
  if (blockDim.x > 32) {  // then blockDim.y is 1, or the row's warps are side by side
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
  const T* x = static_cast<const T*>(pass.x.data) + head * pass.x.outer_stride +
               position * pass.x.inner_stride;
  T* to =
      static_cast<T*>(pass.to.data) + head * pass.to.outer_stride + position * pass.to.inner_stride;
  const float* cos = pass.cos + position * pass.pairs + j;
  const float* sin = pass.sin + position * pass.pairs + j;
  const int64_t one = pass.interleaved ? 2 * j : j;
  const int64_t other = pass.interleaved ? 2 * j + 1 : j + pass.pairs;
  const P first = *reinterpret_cast<const P*>(x + one);
  const P second = *reinterpret_cast<const P*>(x + other);
  P turned_first;
  P turned_second;
#pragma unroll
  for (int l = 0; l < count; ++l) {
    const float a = to_float(first.at[l]);
    const float b = to_float(second.at[l]);
    round_to(a * cos[l] - b * sin[l], turned_first.at[l]);
    round_to(b * cos[l] + a * sin[l], turned_second.at[l]);
  }
  *reinterpret_cast<P*>(to + one) = turned_first;
  *reinterpret_cast<P*>(to + other) = turned_second;
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
  const auto packed = [](const StridedRows& rows) {
    return aligned(rows.data) && divides(kWide<T>, {rows.outer_stride, rows.inner_stride});
  };
  const bool wide = !first.interleaved && divides(kWide<T>, {first.pairs}) && packed(first.x) &&
                    packed(first.to) && packed(second.x) && packed(second.to);
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

}  // namespace ropewalk::cuda
