#pragma once

#include <string>

#include "ropewalk/kernels/torch.h"

namespace ropewalk {

class Communicator;

// Parses "auto", "cpu" or "cuda" (or "cuda:N"). auto takes the GPU where there is one. With several
// GPUs, the `processes` on one machine take them in turn. Makes a GPU the current one of this
// thread. Throws UsageError for another word, SystemError where CUDA is requested and absent.
at::Device parse_device(const std::string& name, const Communicator& processes);

// The default budget: four fifths of the device's memory that this process can still take
// (free_memory.h), divided among those of `processes` that use the device.
int64_t default_memory(const at::Device& device, const Communicator& processes);

// The most memory that this program has held on a GPU at once.
int64_t peak_memory(const at::Device& gpu);

// The floating-point operations per second of a large matrix product, the machine's usual
// bottleneck.
double product_rate(at::ScalarType dtype, const at::Device& device);

}  // namespace ropewalk
