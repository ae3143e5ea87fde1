#include "ropewalk/kernels/products/exact_float32.h"

#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

using at::CuBLASReductionOption;
using at::Float32Backend;
using at::Float32MatmulPrecision;
using at::Float32Op;

constexpr const char* kOverride = "NVIDIA_TF32_OVERRIDE";

// Throws where the program has mixed torch's older and newer settings; then the newer ones hold
// what it meant.
Float32MatmulPrecision matmul_precision() {
  try {
    return at::globalContext().float32MatmulPrecision();
  } catch (const c10::Error&) {
    return Float32MatmulPrecision::HIGHEST;
  }
}

const char* name_of(Float32MatmulPrecision precision) {
  switch (precision) {
    case Float32MatmulPrecision::HIGH:
      return "high";
    case Float32MatmulPrecision::MEDIUM:
      return "medium";
    default:
      return "highest";
  }
}

bool reduces(CuBLASReductionOption option) {
  return option == CuBLASReductionOption::AllowReducedPrecisionWithSplitK;
}

bool splits(CuBLASReductionOption option) {
  return option != CuBLASReductionOption::DisallowReducedPrecisionDisallowSplitK;
}

// torch's settings.
struct Settings {
  Float32MatmulPrecision matmul = matmul_precision();
  at::Float32Precision cuda =
      at::globalContext().float32Precision(Float32Backend::CUDA, Float32Op::MATMUL);
  at::Float32Precision mkldnn =
      at::globalContext().float32Precision(Float32Backend::MKLDNN, Float32Op::MATMUL);
  CuBLASReductionOption half = at::globalContext().allowFP16ReductionCuBLAS();
  CuBLASReductionOption bfloat = at::globalContext().allowBF16ReductionCuBLAS();
  bool half_accumulation = at::globalContext().allowFP16AccumulationCuBLAS();
  bool attention = at::globalContext().allowFP16BF16ReductionMathSDP();

  void restore() const {
    at::Context& context = at::globalContext();
    context.setFloat32MatmulPrecision(name_of(matmul));
    context.setFloat32Precision(Float32Backend::CUDA, Float32Op::MATMUL, cuda);
    context.setFloat32Precision(Float32Backend::MKLDNN, Float32Op::MATMUL, mkldnn);
    context.setAllowFP16ReductionCuBLAS(reduces(half), splits(half));
    context.setAllowBF16ReductionCuBLAS(reduces(bfloat), splits(bfloat));
    context.setAllowFP16AccumulationCuBLAS(half_accumulation);
    context.setAllowFP16BF16ReductionMathSDP(attention);
  }
};

// Objects that live at the same time, in several threads, may begin and end in any order.
std::mutex mutex;
int alive = 0;
std::optional<Settings> before;

}  // namespace

ExactFloat32::ExactFloat32() {
  const std::lock_guard lock(mutex);
  if (alive++ == 0) before.emplace();
  at::Context& context = at::globalContext();
  context.setFloat32MatmulPrecision("highest");
  context.setAllowFP16ReductionCuBLAS(false, splits(before->half));
  context.setAllowBF16ReductionCuBLAS(false, splits(before->bfloat));
  context.setAllowFP16AccumulationCuBLAS(false);
  context.setAllowFP16BF16ReductionMathSDP(false);
  const char* forced = std::getenv(kOverride);
  if (forced != nullptr && std::string(forced) != "0") ::setenv(kOverride, "0", /*replace=*/1);
}

ExactFloat32::~ExactFloat32() {
  const std::lock_guard lock(mutex);
  if (--alive > 0) return;
  before->restore();
  before.reset();
}

void ExactFloat32::require_on(const at::Device& device) const {
  // TF32 keeps ten bits after the first, so 1 + 2^-12 becomes 1.
  constexpr int64_t kSize = 256;
  const auto options = at::TensorOptions().dtype(at::kFloat).device(device);
  const double value = 1 + 1.0 / 4096;
  const at::Tensor a = at::full({kSize, kSize}, value, options);
  const auto found = at::mm(a, at::eye(kSize, options)).min().item<double>();
  if (found != value) {
    throw SystemError(
        "a float32 product on {} gave {} for {}: TF32 is forced here; unset {} before the program "
        "starts",
        device.str(), found, value, kOverride);
  }
}

}  // namespace ropewalk
