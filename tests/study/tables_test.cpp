#include "ropewalk/study/tables.h"

#include <gtest/gtest.h>

#include "ropewalk/base/error.h"
#include "tests/temporary_folder.h"

namespace ropewalk {
namespace {

TEST(Tables, ASummaryIsNamedAfterItsTable) {
  EXPECT_EQ(summary_path("out/qk.csv"), "out/summary.json");
  EXPECT_EQ(summary_path("qk.csv"), "summary.json");
  EXPECT_EQ(summary_path("out/other.csv"), "out/other.summary.json");
  EXPECT_EQ(summary_path("out/run.v2.csv"), "out/run.v2.summary.json");
}

TEST(Tables, AFolderAndTheNamesOfNeighboursAreNoTables) {
  const TemporaryFolder folder;
  for (const char* name :
       {"heads.csv", "summary.json", "changes.csv", "other.heads.csv", "loss.csv", "", "/"}) {
    EXPECT_THROW(check_table_path(folder.path().string() + "/" + name), UsageError) << name;
  }
  EXPECT_THROW(check_table_path("new/"), UsageError);
  for (const char* name : {"qk.csv", "other.csv", "my_heads.csv", "new/table"}) {
    EXPECT_NO_THROW(check_table_path(folder.path() / name)) << name;
  }
}

}  // namespace
}  // namespace ropewalk
