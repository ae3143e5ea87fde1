#include "ropewalk/model/device.h"

#include <gtest/gtest.h>

#include "ropewalk/base/error.h"
#include "ropewalk/base/processes/communicator.h"

namespace ropewalk {
namespace {

TEST(Device, KnownNames) {
  EXPECT_TRUE(parse_device("cpu", {}).is_cpu());
  EXPECT_EQ(parse_device("auto", {}).is_cuda(), at::hasCUDA());
  for (const char* bad : {"", "CPU", "gpu", "abacus", "tpu:0"}) {
    EXPECT_THROW(parse_device(bad, {}), UsageError) << bad;
  }
}

TEST(Device, CudaWhereThereIsNone) {
  if (at::hasCUDA()) {
    EXPECT_TRUE(parse_device("cuda:0", {}).is_cuda());
    EXPECT_THROW(parse_device("cuda:x", {}), UsageError);
  } else {
    EXPECT_THROW(parse_device("cuda", {}), SystemError);
    EXPECT_THROW(parse_device("cuda:1", {}), SystemError);
  }
}

// Errors name the field of the setting; each program has its own name for the option.
TEST(Device, ErrorsCarryTheFieldAndNoOption) {
  try {
    parse_device("abacus", {});
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_EQ(error.field(), "device");
    EXPECT_STREQ(error.what(), "device 'abacus' is unknown; use auto, cpu or cuda");
  }
  try {
    parse_device("cuda:99", {});
    FAIL();
  } catch (const SystemError& error) {
    EXPECT_EQ(error.field(), "device");
    EXPECT_TRUE(std::string(error.what()).starts_with("device cuda:99: ")) << error.what();
  }
}

TEST(Device, DefaultMemoryIsPartOfWhatIsFree) {
  const int64_t bytes = default_memory(at::Device(at::kCPU), {});
  EXPECT_GT(bytes, int64_t{1} << 26);
  EXPECT_LT(bytes, int64_t{1} << 50);
  const Communicator one_of_four({.count = 4, .local_count = 4}, nullptr);
  EXPECT_LT(default_memory(at::Device(at::kCPU), one_of_four), bytes / 2) << "all four need theirs";
}

}  // namespace
}  // namespace ropewalk
