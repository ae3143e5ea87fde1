#pragma once

#include <cstdint>
#include <string>

#include "ropewalk/base/files/json_reader.h"
#include "ropewalk/kernels/torch.h"

namespace ropewalk {

// The inputs of the choice of a dtype. The choice must not change from run to run, so it does not
// depend on free memory.
struct StoredWeights {
  std::string dtype;     // as config.json spells it: "float32", "bfloat16", …
  int64_t elements = 0;  // number of elements that the pass needs
};

struct Precision {
  at::ScalarType dtype = at::kFloat;
  std::string why;  // "weights are stored in float32, under 2 GiB"
};

// Chooses a dtype by name: "auto", "float32" or "bfloat16". auto chooses float32 where the weights
// are float32 and take at most 2 GiB; else bfloat16 where the hardware multiplies it natively, and
// float32 where it does not. Throws UsageError for another word.
Precision choose_precision(const std::string& name, const at::Device& device,
                           const StoredWeights& weights);

// Whether a processor has instructions for products of bfloat16 numbers.
bool multiplies_bfloat16(const at::Device& device);

// The type of the weights according to config.json; float32 where it does not say, as in
// transformers.
std::string stated_dtype(const JsonReader& config);

std::string dtype_name(at::ScalarType dtype);

}  // namespace ropewalk
