#include "ropewalk/figures/parts/head_name.h"

#include <gtest/gtest.h>

namespace ropewalk {
namespace {

TEST(HeadName, IsWrittenAndRead) {
  EXPECT_EQ(head_name({3, 12}), "L3H12");
  for (const char* name : {"L3H12", "l3h12", "3.12"}) {
    EXPECT_EQ(find_head(name), (QueryHead{3, 12})) << name;
  }
}

TEST(HeadName, AnythingElseIsNone) {
  for (const char* name : {"", "L3", "H2", "L3H", "LH2", "L-1H2", "L3H-2", "3", "3.", ".2", "3H2",
                           "L3.2", "L3H2 ", "L3H2x", "L99999999999H0", "3.2.1", "L+3H2"}) {
    EXPECT_FALSE(find_head(name)) << name;
  }
  EXPECT_EQ(unknown_head_error("H2"),
            "'H2' is not a head; expected for example L3H2 for layer 3, query head 2");
}

}  // namespace
}  // namespace ropewalk
