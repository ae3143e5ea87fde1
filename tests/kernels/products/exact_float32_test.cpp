#include "ropewalk/kernels/products/exact_float32.h"

#include <gtest/gtest.h>

#include "ropewalk/base/error.h"
#include "ropewalk/kernels/gpu/passes.h"

namespace ropewalk {
namespace {

using at::Float32Backend;
using at::Float32MatmulPrecision;
using at::Float32Op;
using at::Float32Precision;

at::Context& context() { return at::globalContext(); }

TEST(ExactFloat32, OverridesAndRestoresTheProgramsSettings) {
  context().setFloat32MatmulPrecision("medium");
  context().setAllowBF16ReductionCuBLAS(true);
  context().setAllowFP16ReductionCuBLAS(true);
  context().setAllowFP16BF16ReductionMathSDP(true);
  {
    const ExactFloat32 exact;
    EXPECT_EQ(context().float32MatmulPrecision(), Float32MatmulPrecision::HIGHEST);
    EXPECT_FALSE(context().allowTF32CuBLAS());
    EXPECT_NE(context().float32Precision(Float32Backend::MKLDNN, Float32Op::MATMUL),
              Float32Precision::BF16);
    for (const auto option :
         {context().allowBF16ReductionCuBLAS(), context().allowFP16ReductionCuBLAS()}) {
      EXPECT_EQ(option, at::CuBLASReductionOption::DisallowReducedPrecisionAllowSplitK);
    }
    EXPECT_FALSE(context().allowFP16BF16ReductionMathSDP());
    exact.require_on(at::kCPU);
  }
  EXPECT_EQ(context().float32MatmulPrecision(), Float32MatmulPrecision::MEDIUM);
  EXPECT_EQ(context().float32Precision(Float32Backend::MKLDNN, Float32Op::MATMUL),
            Float32Precision::BF16);
  EXPECT_EQ(context().allowBF16ReductionCuBLAS(),
            at::CuBLASReductionOption::AllowReducedPrecisionWithSplitK);
  EXPECT_TRUE(context().allowFP16BF16ReductionMathSDP());
  context().setFloat32MatmulPrecision("highest");
  context().setAllowFP16BF16ReductionMathSDP(false);
}

// A program that mixes torch's older and newer settings.
TEST(ExactFloat32, AcceptsMixedSettings) {
  context().setFloat32Precision(Float32Backend::CUDA, Float32Op::MATMUL, Float32Precision::TF32);
  {
    const ExactFloat32 exact;
    EXPECT_FALSE(context().allowTF32CuBLAS());
  }
  EXPECT_EQ(context().float32Precision(Float32Backend::CUDA, Float32Op::MATMUL),
            Float32Precision::TF32);
  context().setFloat32MatmulPrecision("highest");
}

TEST(ExactFloat32, EnvironmentDoesNotForceTf32) {
  ::setenv("NVIDIA_TF32_OVERRIDE", "1", 1);
  const ExactFloat32 exact;
  EXPECT_STREQ(std::getenv("NVIDIA_TF32_OVERRIDE"), "0");
  ::unsetenv("NVIDIA_TF32_OVERRIDE");
}

}  // namespace
}  // namespace ropewalk
