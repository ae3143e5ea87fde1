#pragma once

#include <string>

#include "ropewalk/kernels/torch.h"

namespace ropewalk {

class Communicator;

// "auto", "cpu" or "cuda" (or "cuda:N"). auto: the GPU where there is one. Of several, `processes`
// on one machine take theirs in turn. Makes a GPU this thread's current one. Throws UsageError on
// another word, SystemError when CUDA is asked for and absent.
at::Device parse_device(const std::string& name, const Communicator& processes);

// Four fifths of what this process can still take of the device's memory (free_memory.h), shared
// with the others of `processes` that use it: the default budget.
int64_t default_memory(const at::Device& device, const Communicator& processes);

// The most memory this program has held on a GPU at once.
int64_t peak_memory(const at::Device& gpu);

// Floating-point operations per second of a large matrix product, the machine's usual bottleneck.
double product_rate(at::ScalarType dtype, const at::Device& device);

}  // namespace ropewalk
