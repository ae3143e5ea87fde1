// The table of what a capture keeps: each row is its own member, and something keeps it.
#include "ropewalk/moments/keep_options.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "ropewalk/analysis/kept_parts.h"
#include "ropewalk/moments/accumulator.h"
#include "ropewalk/moments/loss_collector.h"

namespace ropewalk {
namespace {

CaptureShape shape_that_keeps(const KeepOptions& keep) {
  return {.head_dim = 6, .keep = keep, .context = 160, .documents = 9};
}

TEST(KeepOptions, EveryRowIsAnotherMember) {
  const Json nothing = keep_json(keep_nothing()), everything = keep_json(keep_everything());
  ASSERT_EQ(nothing.size(), kKeepOptions.size()) << "keys are unique";
  for (const KeepOption& option : kKeepOptions) {
    EXPECT_FALSE(option.on(keep_nothing())) << option.key;
    EXPECT_TRUE(option.on(keep_everything())) << option.key;
    KeepOptions one = keep_nothing();
    option.visit(one, [](auto& member) { member = {1}; });
    EXPECT_TRUE(option.on(one)) << option.key;
    Json expected = nothing;
    expected[option.key] = option.visit(one, [](const auto& value) { return keep_json(value); });
    EXPECT_EQ(keep_json(one), expected) << option.key;
    EXPECT_EQ(keep_both(one, keep_everything()), one) << option.key;
    EXPECT_EQ(keep_both(keep_everything(), one), keep_both(one, keep_everything())) << option.key;
    EXPECT_EQ(find_keep_option(option.key), &option);
  }
  EXPECT_EQ(find_keep_option("lunch"), nullptr);
}

// An option that nothing reads would be accepted, and change nothing.
TEST(KeepOptions, EveryRowSwitchesWhatHasItsName) {
  for (const KeepOption& option : kKeepOptions) {
    if (option.key == std::string(kLossName)) continue;  // a number of documents
    KeepOptions without = keep_everything();
    option.visit(without, [](auto& member) { member = {}; });
    const auto with_it = kept_names(shape_that_keeps(keep_everything()));
    auto expected = with_it;
    EXPECT_EQ(std::erase(expected, option.key), 1u) << option.key;
    EXPECT_EQ(kept_names(shape_that_keeps(without)), expected) << option.key;
  }
}

TEST(KeepOptions, AccumulatorsAndWhatStatisticsReadOfThemHaveTheNamesOfTheList) {
  std::vector<std::string> names;
#define ROPEWALK_NAME(name) names.emplace_back(#name);
  ROPEWALK_ACCUMULATORS(ROPEWALK_NAME)
#undef ROPEWALK_NAME
  std::vector<std::string> accumulated, read;
  for (const Accumulator* one : accumulators()) accumulated.push_back(one->name());
  for (const PartsReader& one : parts_readers()) read.push_back(one.accumulator);
  ASSERT_EQ(accumulated.front(), "") << "second moments";
  accumulated.erase(accumulated.begin());
  EXPECT_EQ(accumulated, names);
  EXPECT_EQ(read, names);
}

TEST(KeepCount, IsANumberNoneOrAll) {
  EXPECT_EQ(parse_keep_count("32"), KeepCount{32});
  EXPECT_EQ(parse_keep_count("0"), KeepCount{0});
  EXPECT_EQ(parse_keep_count("all"), KeepCount{KeepCount::kAll});
  for (const char* wrong : {"", "-1", "3.5", "All", "32 ", "99999999999999999999"}) {
    EXPECT_EQ(parse_keep_count(wrong), std::nullopt) << wrong;
  }
  EXPECT_EQ(keep_json(KeepCount{32}), 32);
  EXPECT_EQ(keep_json(KeepCount{0}), 0);
  EXPECT_EQ(keep_json(KeepCount{KeepCount::kAll}), "all");
}

}  // namespace
}  // namespace ropewalk
