#include "ropewalk/study/tables.h"

#include <gtest/gtest.h>

namespace ropewalk {
namespace {

TEST(Tables, ASummaryIsNamedAfterItsTable) {
  EXPECT_EQ(summary_path("out/qk.csv"), "out/summary.json");
  EXPECT_EQ(summary_path("qk.csv"), "summary.json");
  EXPECT_EQ(summary_path("out/other.csv"), "out/other.summary.json");
  EXPECT_EQ(summary_path("out/run.v2.csv"), "out/run.v2.summary.json");
}

}  // namespace
}  // namespace ropewalk
