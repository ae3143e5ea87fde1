#include "ropewalk/analysis/run/context_label.h"

#include <gtest/gtest.h>

namespace ropewalk {
namespace {

TEST(ContextLabel, IsNameAndTokens) {
  EXPECT_EQ(label_at("S1-40K", 4096), "S1-40K@4096");
  EXPECT_EQ(split_label("S1-40K@4096").name, "S1-40K");
  EXPECT_EQ(split_label("S1-40K@4096").context, 4096);
}

TEST(ContextLabel, OtherLabelsStateNone) {
  for (const char* label : {"S1-40K", "", "@", "a@", "@512", "a@x", "a@5x", "a@-5", "a@1", "a@0512",
                            "a@99999999999999999999", "a@5 "}) {
    EXPECT_EQ(split_label(label).name, label);
    EXPECT_EQ(split_label(label).context, 0) << label;
  }
  EXPECT_EQ(split_label("user@host@64").name, "user@host");
}

}  // namespace
}  // namespace ropewalk
