#pragma once

#include <gtest/gtest.h>

#include "ropewalk/kernels/gpu/gpu.h"
#include "ropewalk/kernels/products/exact_float32.h"

namespace ropewalk {

// Skipped where there is no GPU.
class GpuTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!cuda::available() || !at::hasCUDA()) GTEST_SKIP() << "no GPU";
  }

  const ExactFloat32 exact_;
};

inline double relative_error(const at::Tensor& result, const at::Tensor& expected) {
  const at::Tensor wide = expected.to(at::kCPU).to(at::kDouble);
  const at::Tensor away = result.to(at::kCPU).to(at::kDouble) - wide;
  return away.norm().item<double>() / wide.norm().item<double>();
}

// The error of rounding once to a dtype.
inline double rounding(at::ScalarType dtype) { return dtype == at::kFloat ? 1e-6 : 4e-3; }

}  // namespace ropewalk
