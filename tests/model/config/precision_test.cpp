#include "ropewalk/model/config/precision.h"

#include <gtest/gtest.h>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

const at::Device kCpu(at::kCPU);
const at::Device kGpu(at::kCUDA);
constexpr int64_t kMost = int64_t{2} << 28;  // numbers in 2 GiB of float32

TEST(Precision, HonoursTheRequest) {
  EXPECT_EQ(choose_precision("float32", kGpu, {"bfloat16", 5}).dtype, at::kFloat);
  EXPECT_EQ(choose_precision("bfloat16", kCpu, {"float32", 5}).dtype, at::kBFloat16);
  EXPECT_EQ(choose_precision("bfloat16", kCpu, {"float32", 5}).why, "as asked");
  for (const char* bad : {"", "float16", "float8", "Float32"}) {
    try {
      choose_precision(bad, kCpu, {"float32", 5});
      FAIL() << bad;
    } catch (const UsageError& error) {
      EXPECT_EQ(error.field(), "dtype");
    }
  }
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    EXPECT_EQ(choose_precision(dtype_name(dtype), kCpu, {}).dtype, dtype);
  }
}

TEST(Precision, SmallFloat32WeightsStayFloat32) {
  for (const at::Device& device : {kCpu, kGpu}) {
    const Precision chosen = choose_precision("auto", device, {"float32", kMost});
    EXPECT_EQ(chosen.dtype, at::kFloat);
    EXPECT_EQ(chosen.why, "weights are stored in float32, under 2 GiB");
  }
}

TEST(Precision, OtherWeightsBecomeBfloat16WhereTheHardwareMultipliesIt) {
  const Precision large = choose_precision("auto", kGpu, {"float32", kMost + 1});
  EXPECT_EQ(large.dtype, at::kBFloat16);
  EXPECT_EQ(large.why, "weights are stored in float32, 2.00 GiB of them are needed");
  const Precision half = choose_precision("auto", kGpu, {"float16", 5});
  EXPECT_EQ(half.dtype, at::kBFloat16);
  EXPECT_EQ(half.why, "weights are stored in float16");
  const Precision cpu = choose_precision("auto", kCpu, {"bfloat16", 5});
  EXPECT_EQ(cpu.dtype, multiplies_bfloat16(kCpu) ? at::kBFloat16 : at::kFloat);
}

TEST(Precision, StatedByTheConfig) {
  const auto stated = [](const char* text) { return stated_dtype({Json::parse(text), "config"}); };
  EXPECT_EQ(stated(R"({"dtype": "bfloat16"})"), "bfloat16");
  EXPECT_EQ(stated(R"({"torch_dtype": "float16"})"), "float16");
  EXPECT_EQ(stated(R"({"torch_dtype": null, "text_config": {"dtype": "bfloat16"}})"), "bfloat16");
  EXPECT_EQ(stated("{}"), "float32");
  EXPECT_THROW(stated(R"({"dtype": 5})"), InputError);
}

}  // namespace
}  // namespace ropewalk
