#pragma once

#include <cstdint>
#include <string>

#include "ropewalk/base/files/json_reader.h"
#include "ropewalk/kernels/torch.h"

namespace ropewalk {

// What the choice of a dtype looks at. It must not change from run to run, so that free memory is
// no part of it.
struct StoredWeights {
  std::string dtype;     // as config.json spells it: "float32", "bfloat16", …
  int64_t elements = 0;  // that the pass needs
};

struct Precision {
  at::ScalarType dtype = at::kFloat;
  std::string why;  // "weights are stored in float32, under 2 GiB"
};

// "auto", "float32" or "bfloat16". auto: float32 where the weights are float32 and take at most
// 2 GiB; else bfloat16 where the hardware multiplies it natively, float32 where it does not. Throws
// UsageError on another word.
Precision choose_precision(const std::string& name, const at::Device& device,
                           const StoredWeights& weights);

// Whether a processor has instructions for products of bfloat16 numbers.
bool multiplies_bfloat16(const at::Device& device);

// What config.json says its weights are stored as; float32 where it does not say, as transformers
// takes it.
std::string stated_dtype(const JsonReader& config);

std::string dtype_name(at::ScalarType dtype);

}  // namespace ropewalk
