// Each row of the table of what a capture keeps has its own member, and an accumulator that uses
// it.
#include "ropewalk/moments/keep_options.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "ropewalk/analysis/replicates/kept_parts.h"
#include "ropewalk/base/error.h"
#include "ropewalk/moments/accumulators/accumulator.h"
#include "ropewalk/moments/accumulators/plasticity.h"
#include "ropewalk/moments/collectors/loss_collector.h"
#include "ropewalk/moments/files/kept_fields.h"
#include "tests/moments/collectors/small_run.h"
#include "tests/moments/files/small_config.h"

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
    const KeepOptions both = keep_both(keep_everything(), one);
    for (const KeepOption& other : kKeepOptions) {
      EXPECT_EQ(other.on(both), other.key == option.key) << option.key << " and " << other.key;
    }
    EXPECT_EQ(find_keep_option(option.key), &option);
  }
  EXPECT_EQ(find_keep_option("lunch"), nullptr);
}

// An option that nothing reads would be accepted but change nothing.
TEST(KeepOptions, EveryRowSwitchesWhatHasItsName) {
  for (const KeepOption& option : kKeepOptions) {
    if (option.key == std::string(kLossName)) continue;  // its numbers are per document
    KeepOptions without = keep_everything();
    option.visit(without, [](auto& member) { member = {}; });
    KeepRecords expected = kept_records(shape_that_keeps(keep_everything()));
    EXPECT_EQ(expected.erase(option.key), 1u) << option.key;
    EXPECT_EQ(kept_records(shape_that_keeps(without)), expected) << option.key;
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

// Captures of one run that keep different things.
class AddKeptTest : public testing::Test {
 protected:
  CaptureMoments capture(const KeepOptions& keep, int64_t documents = 6) const {
    MomentsCollector collector(
        small_config(2, 6), {{0, 1}, {1, 2}},
        {.blocks = 2, .keep = keep, .context = 100, .documents = run_.count()});
    SmallRun run = run_;
    run.before_rope = keep.pre_rope;
    run.read(collector, 0, 1, documents);
    CaptureMoments made = run.written(folder_, collector, 0, 1, documents);
    if (keep.loss) {
      made.info.accumulators[kLossName] = {kLossNumerics};
      made.info.head_weights = "head";
      made.document_values = {{kLossName, at::rand({documents, 3}, at::kDouble)}};
    }
    return made;
  }
  KeepOptions only(const KeepOption& option) const {
    KeepOptions keep = keep_nothing();
    option.visit(keep, [](auto& member) { member = {1}; });
    return keep_both(keep_everything(), keep);  // of what is counted, all
  }

  const SmallRun run_{{100, 30, 50, 99, 31, 80}, 6, 1, 100};
  TemporaryFolder folder_;
};

TEST_F(AddKeptTest, IsAsIfItHadBeenMeasuredAtOnce) {
  at::manual_seed(1);
  const CaptureMoments expected = capture(keep_everything());
  for (const KeepOption& option : kKeepOptions) {
    KeepOptions without = keep_everything();
    option.visit(without, [](auto& member) { member = {}; });
    at::manual_seed(1);
    CaptureMoments whole = capture(without);
    at::manual_seed(1);
    CaptureMoments part = capture(only(option));
    whole.info.seconds = 3;
    part.info.seconds = 2;
    add_kept(whole, std::move(part), {option.key});
    EXPECT_EQ(whole.info.seconds, 5);
    whole.info.seconds = expected.info.seconds;
    expect_same_moments(whole, expected);
    ASSERT_EQ(whole.document_values.size(), 1u) << option.key;
    EXPECT_TRUE(whole.document_values[0].values.equal(expected.document_values[0].values));
  }
}

TEST_F(AddKeptTest, TakesTheRoomOfAnotherVersion) {
  CaptureMoments whole = capture(keep_everything());
  whole.info.accumulators["plasticity"].numerics = 1;
  const auto sample = [](const CaptureMoments& moments) {
    return KeptFields::find(moments, plasticity(), StreamKind::query)->total("sample");
  };
  sample(whole).fill_(1);
  CaptureMoments part = capture({.plasticity = true, .rows = {}});
  sample(part).fill_(2);
  add_kept(whole, std::move(part), {"plasticity"});
  EXPECT_EQ(whole.info.accumulators, capture(keep_everything()).info.accumulators);
  EXPECT_TRUE(sample(whole).eq(2).all().item<bool>());
}

TEST_F(AddKeptTest, IsOfTheSameDocuments) {
  CaptureMoments whole = capture(keep_nothing());
  EXPECT_THROW(add_kept(whole, capture({.plasticity = true}, 5), {"plasticity"}), InputError);
  CaptureMoments other = capture({.plasticity = true});
  other.documents[3].digest ^= 1;
  EXPECT_THROW(add_kept(whole, std::move(other), {"plasticity"}), InputError);
}

// A sum only has what both parts keep in the same version.
TEST_F(AddKeptTest, SumsLackWhatIsOfOtherVersions) {
  CaptureMoments whole = capture(keep_everything()), part = capture(keep_everything());
  for (DocumentRecord& document : part.documents) document.index += 100;
  part.info.accumulators["plasticity"].numerics += 1;
  part.info.accumulators["loss"].numerics += 1;
  join_capture(whole, std::move(part));
  EXPECT_EQ(names_of(whole.info.accumulators),
            (std::vector<std::string>{"lags", "pre_rope", "rows"}));
  EXPECT_EQ(whole.accumulated.size(), 4u);
  EXPECT_TRUE(whole.document_values.empty());
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
