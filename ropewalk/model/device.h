#pragma once

#include <string>

#include "ropewalk/kernels/torch.h"

namespace ropewalk {

// "auto", "cpu" or "cuda" (or "cuda:N"). auto: the GPU where there is one. Of several, processes on
// one machine take theirs in turn. Makes a GPU this thread's current one. Throws UsageError on
// another word, SystemError when CUDA is asked for and absent.
at::Device parse_device(const std::string& name);

// "auto", "float32" or "bfloat16". auto: bfloat16 where the hardware multiplies it natively, else
// float32.
at::ScalarType parse_dtype(const std::string& name, const at::Device& device);

std::string dtype_name(at::ScalarType dtype);

// Four fifths of what is free on the device now, shared with the processes that use it too: the
// default of --memory.
int64_t default_memory(const at::Device& device);

// Switches off TF32 and reduced-precision sums, so that float32 means float32 on every device.
void use_exact_float32();

// The most memory this program has held on a GPU at once.
int64_t peak_memory(const at::Device& gpu);

// Floating-point operations a second of a large matrix product, the machine's usual bottleneck.
double product_rate(at::ScalarType dtype, const at::Device& device);

}  // namespace ropewalk
