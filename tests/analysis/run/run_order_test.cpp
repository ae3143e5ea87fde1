#include "ropewalk/analysis/run/run_order.h"

#include <gtest/gtest.h>

namespace ropewalk {
namespace {

struct Made {
  const char* label;
  int64_t context = 0;
  bool random = false;
  bool independent_model = false;
};

class RunOrderTest : public testing::Test {
 protected:
  static std::vector<CheckpointTable> checkpoints_of(const std::vector<Made>& made) {
    std::vector<CheckpointTable> checkpoints(made.size());
    for (size_t i = 0; i < made.size(); ++i) {
      checkpoints[i].label = made[i].label;
      checkpoints[i].origin.context = made[i].context;
      checkpoints[i].random = made[i].random;
      checkpoints[i].independent_model = made[i].independent_model;
    }
    return checkpoints;
  }

  // Formats whole_run() as "a>b": the first and the last trained checkpoint.
  static std::string whole(const std::vector<Made>& made) {
    const auto run = RunOrder(checkpoints_of(made)).whole_run();
    return run ? std::string(made[run->first].label) + ">" + made[run->second].label : "";
  }

  // Formats steps as "b<a", contexts as "b@64^b@32", baselines as "b~i".
  static std::string text(const std::vector<Made>& made) {
    const std::vector<CheckpointTable> checkpoints = checkpoints_of(made);
    const RunOrder order(checkpoints);
    std::string text;
    const auto add = [&](size_t i, const char* sign, size_t from) {
      text += (text.empty() ? "" : " ") + checkpoints[i].label + sign + checkpoints[from].label;
    };
    for (size_t i = 0; i < made.size(); ++i) {
      if (const auto from = order.step_from(i)) add(i, "<", *from);
      if (const auto from = order.context_from(i)) add(i, "^", *from);
      for (const size_t from : order.baselines(i)) {
        if (!made[i].random) add(i, "~", from);
      }
    }
    return text;
  }
};

TEST_F(RunOrderTest, NoStepLeadsFromOneModelToAnother) {
  EXPECT_EQ(text({{"a", 64, false, true}, {"b", 64, false, true}, {"c", 32, false, true}}), "");
}

TEST_F(RunOrderTest, ARunOfOneContextEachFollowsTheOneBefore) {
  EXPECT_EQ(text({{"i", 32, true}, {"a", 32}, {"b", 64}, {"c", 32}}), "a~i b<a b~i c<b c~i");
  EXPECT_EQ(text({{"a"}, {"i", 0, true}, {"b"}}), "a~i b<a b~i") << "contexts that are not known";
}

TEST_F(RunOrderTest, SeveralContextsAreRunsOfTheirOwn) {
  EXPECT_EQ(text({{"i@32", 32, true},
                  {"a@32", 32},
                  {"b@32", 32},
                  {"i@64", 64, true},
                  {"a@64", 64},
                  {"b@64", 64}}),
            "a@32~i@32 b@32<a@32 b@32~i@32 i@64^i@32 a@64^a@32 a@64~i@64 b@64<a@64 b@64^b@32 "
            "b@64~i@64");
  EXPECT_EQ(text({{"a@32", 32}, {"a@64", 64}, {"a@48", 48}}), "a@64^a@48 a@48^a@32")
      << "the next shorter one, wherever it stands";
}

TEST_F(RunOrderTest, TheWholeRunIsOfTrainedCheckpointsAtOneContext) {
  EXPECT_EQ(whole({{"i", 32, true}, {"a", 32}, {"b", 64}, {"c", 128}}), "a>c");
  EXPECT_EQ(whole({{"a@32", 32}, {"b@32", 32}, {"a@64", 64}, {"b@64", 64}}), "a@64>b@64");
  EXPECT_EQ(whole({{"i", 32, true}, {"a", 32}}), "");
  EXPECT_EQ(whole({{"a", 64, false, true}, {"b", 64, false, true}}), "");
}

TEST_F(RunOrderTest, OneContextGoesOnWhereItIsTheSame) {
  EXPECT_EQ(text({{"a", 32}, {"b@32", 32}, {"b@64", 64}, {"c", 32}, {"d", 128}}),
            "b@32<a b@64^b@32 c<b@32 d<c");
}

TEST_F(RunOrderTest, ALabelThatSaysAnotherContextSaysNone) {
  EXPECT_EQ(text({{"a@32", 64}, {"a@64", 32}}), "a@64<a@32");
}

}  // namespace
}  // namespace ropewalk
