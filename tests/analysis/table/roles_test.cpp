#include "ropewalk/analysis/table/roles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ropewalk/analysis/statistics/statistic.h"
#include "ropewalk/analysis/table/role_table.h"
#include "ropewalk/analysis/table/run_table.h"
#include "ropewalk/base/files/json.h"

namespace ropewalk {
namespace {

constexpr double kNone = NAN;

HeadColumn& column_of(CheckpointTable& checkpoint, std::string_view key) {
  return checkpoint.columns[statistic_index(key)];
}

// Heads of six layers whose class, sink and R² go together within layers.
CheckpointTable made_checkpoint() {
  CheckpointTable made;
  made.model = "m";
  made.label = "step,1";
  made.columns.resize(statistics().size());
  for (int64_t i = 0; i < 48; ++i) {
    made.layer.push_back(i / 8);
    made.q_head.push_back(i % 8);
    made.pc.push_back(0);
    for (HeadColumn& column : made.columns) {
      column.value.push_back(kNone);
      column.se.push_back(kNone);
    }
    const bool sink = i % 8 < 3;
    const auto set = [&](const char* key, double value) {
      column_of(made, key).value.back() = value;
      column_of(made, key).se.back() = 0.01;
    };
    set("r_q", sink ? 0.9 : 0.1);
    set("r_k", sink ? 0.8 : 0.2);
    set("sink", sink ? 0.6 : 0.1);
    set("r2cv_k", static_cast<double>(i % 8) / 10);
  }
  return made;
}

TEST(Roles, AScoreMustBeAboveItsThresholdByItsError) {
  const Role& sink = kRoles[0];
  EXPECT_EQ(has_role(sink, sink.threshold + 0.03, 0.01), std::optional(true));
  EXPECT_EQ(has_role(sink, sink.threshold + 0.01, 0.01), std::optional(false));
  EXPECT_EQ(has_role(sink, 0.9, kNone), std::nullopt);
  EXPECT_EQ(has_role(sink, kNone, 0.01), std::nullopt);
}

TEST(Roles, AreCountedWhereTheyAreKnown) {
  CheckpointTable checkpoint = made_checkpoint();
  column_of(checkpoint, "sink").se[0] = kNone;
  const RoleNumbers count = role_numbers(kRoles[0], checkpoint);
  EXPECT_EQ(count.heads, 17U);
  EXPECT_EQ(count.of, 47U);
  EXPECT_DOUBLE_EQ(count.top, 0.6) << "five of 47";
  EXPECT_EQ(role_numbers(kRoles[1], checkpoint).of, 0U);
  EXPECT_TRUE(std::isnan(role_numbers(kRoles[1], checkpoint).top));
}

TEST(RoleTable, WhatGoesTogetherWithinLayersIsFound) {
  const std::vector<CheckpointTable> checkpoints{made_checkpoint()};
  const std::vector<RoleAssociation> all = role_associations(checkpoints);
  const auto find = [&](const std::string& name) {
    return *std::find_if(all.begin(), all.end(),
                         [&](const RoleAssociation& one) { return one.name == name; });
  };
  const RoleAssociation same = find("position-dominated");
  EXPECT_EQ(same.in_class, 18);
  EXPECT_EQ(same.both, 18);
  EXPECT_NEAR(same.value, 18.5 * 30.5 / 0.25, 1e-9);
  EXPECT_NEAR(same.p, 1e-4, 1e-9);
  EXPECT_LT(same.q, 0.05);
  const RoleAssociation empty = find("q-positional");
  EXPECT_EQ(empty.in_class, 0);
  EXPECT_TRUE(std::isnan(empty.value) && std::isnan(empty.p) && std::isnan(empty.q));
  const RoleAssociation column = find("r2cv_k");
  EXPECT_LT(column.value, -0.7) << "the first three heads have the smallest numbers";
  EXPECT_NEAR(column.expected, 0, 1e-9);
  EXPECT_LT(column.p, 0.001);
  for (const RoleAssociation& one : all) EXPECT_EQ(one.role, "sink") << "no other has a score";
}

TEST(RoleTable, RowsAreOfTheirCheckpoint) {
  const std::vector<CheckpointTable> checkpoints{made_checkpoint()};
  const std::string text = format_role_table(checkpoints, role_associations(checkpoints));
  EXPECT_TRUE(text.starts_with("model,checkpoint,phase,order,kind,name,role,heads,"));
  EXPECT_NE(text.find("\nm,\"step,1\",,0,class,position-dominated,sink,48,18,18,18,"),
            std::string::npos);
  EXPECT_NE(text.find(",column,r2cv_k,sink,48,,,,-0."), std::string::npos);
}

}  // namespace
}  // namespace ropewalk
