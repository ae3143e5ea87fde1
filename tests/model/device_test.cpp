#include "ropewalk/model/device.h"

#include <gtest/gtest.h>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

TEST(Device, KnownNames) {
  EXPECT_TRUE(parse_device("cpu").is_cpu());
  EXPECT_EQ(parse_device("auto").is_cuda(), at::hasCUDA());
  for (const char* bad : {"", "CPU", "gpu", "abacus", "tpu:0"}) {
    EXPECT_THROW(parse_device(bad), UsageError) << bad;
  }
}

TEST(Device, CudaWhereThereIsNone) {
  if (at::hasCUDA()) {
    EXPECT_TRUE(parse_device("cuda:0").is_cuda());
    EXPECT_THROW(parse_device("cuda:x"), UsageError);
  } else {
    EXPECT_THROW(parse_device("cuda"), SystemError);
    EXPECT_THROW(parse_device("cuda:1"), SystemError);
  }
}

TEST(Dtype, KnownNames) {
  const at::Device cpu(at::kCPU);
  EXPECT_EQ(parse_dtype("float32", cpu), at::kFloat);
  EXPECT_EQ(parse_dtype("bfloat16", cpu), at::kBFloat16);
  EXPECT_EQ(parse_dtype("auto", at::Device(at::kCUDA)), at::kBFloat16);
  for (const char* bad : {"", "float16", "float8", "Float32"}) {
    EXPECT_THROW(parse_dtype(bad, cpu), UsageError) << bad;
  }
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    EXPECT_EQ(parse_dtype(dtype_name(dtype), cpu), dtype);
  }
}

TEST(Device, DefaultMemoryIsPartOfWhatIsFree) {
  const int64_t bytes = default_memory(at::Device(at::kCPU));
  EXPECT_GT(bytes, int64_t{1} << 26);
  EXPECT_LT(bytes, int64_t{1} << 50);
}

}  // namespace
}  // namespace ropewalk
