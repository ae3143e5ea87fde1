#pragma once

#include <cuda_bf16.h>

#include <stdexcept>
#include <string>

#include "ropewalk/kernels/gpu/passes.h"

// Code that the CUDA kernels share.
namespace ropewalk::cuda {

inline void check_launch(const char* name) {
  const cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) {
    throw std::runtime_error(std::string("CUDA kernel ") + name + ": " + cudaGetErrorString(error));
  }
}

inline cudaStream_t native(Stream stream) { return static_cast<cudaStream_t>(stream); }

__device__ inline float to_float(float x) { return x; }
__device__ inline float to_float(__nv_bfloat16 x) { return __bfloat162float(x); }
__device__ inline void round_to(float value, float& x) { x = value; }
__device__ inline void round_to(float value, __nv_bfloat16& x) { x = __float2bfloat16_rn(value); }

// Sixteen bytes of numbers, or one number where rows are not multiples of sixteen bytes.
template <typename T, int count>
struct alignas(sizeof(T) * count) Pack {
  T at[count];
};
template <typename T>
constexpr int kWide = 16 / sizeof(T);

}  // namespace ropewalk::cuda
