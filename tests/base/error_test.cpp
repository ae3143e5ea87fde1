#include "ropewalk/base/error.h"

#include <gtest/gtest.h>

namespace ropewalk {
namespace {

TEST(Error, FieldBeginsTheMessage) {
  const UsageError usage(Field{"device"}, " '{}' is unknown", "abacus");
  EXPECT_EQ(usage.field(), "device");
  EXPECT_STREQ(usage.what(), "device 'abacus' is unknown");
  const SystemError system(Field{"device"}, " {}: is not there", "cuda");
  EXPECT_EQ(system.field(), "device");
  EXPECT_STREQ(system.what(), "device cuda: is not there");
}

TEST(Error, MessageWithoutAField) {
  EXPECT_EQ(UsageError("nothing {}", 1).field(), "");
  EXPECT_EQ(SystemError("nothing").field(), "");
}

}  // namespace
}  // namespace ropewalk
