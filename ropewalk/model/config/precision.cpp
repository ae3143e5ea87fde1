#include "ropewalk/model/config/precision.h"

#include "ropewalk/base/error.h"
#include "ropewalk/base/units.h"
#include "ropewalk/kernels/processor.h"

namespace ropewalk {
namespace {

constexpr int64_t kSmall = int64_t{2} << 30;  // bytes

}  // namespace

bool multiplies_bfloat16(const at::Device& device) {
  return device.is_cuda() || cpu::has_bfloat16_tiles() || cpu::has_bfloat16_vectors();
}

Precision choose_precision(const std::string& name, const at::Device& device,
                           const StoredWeights& weights) {
  if (name == "float32") return {at::kFloat, "as asked"};
  if (name == "bfloat16") return {at::kBFloat16, "as asked"};
  if (name != "auto") {
    throw UsageError(Field{"dtype"}, " '{}' is unknown; use auto, float32 or bfloat16", name);
  }
  const int64_t bytes = weights.elements * static_cast<int64_t>(sizeof(float));
  const bool single = weights.dtype == "float32";
  if (single && bytes <= kSmall) return {at::kFloat, "weights are stored in float32, under 2 GiB"};
  if (!multiplies_bfloat16(device)) {
    return {at::kFloat, "this processor does not multiply bfloat16 itself"};
  }
  if (!single) return {at::kBFloat16, fmt::format("weights are stored in {}", weights.dtype)};
  return {at::kBFloat16,
          fmt::format("weights are stored in float32, {} of them are needed", format_bytes(bytes))};
}

std::string stated_dtype(const JsonReader& config) {
  for (const char* key : {"dtype", "torch_dtype"}) {
    if (config.has(key)) return config.text(key);
  }
  return config.has("text_config") ? stated_dtype(config.object("text_config")) : "float32";
}

std::string dtype_name(at::ScalarType dtype) {
  return dtype == at::kBFloat16 ? "bfloat16" : "float32";
}

}  // namespace ropewalk
