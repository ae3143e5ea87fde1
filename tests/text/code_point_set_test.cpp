#include "ropewalk/text/code_point_set.h"

#include <gtest/gtest.h>

#include <array>
#include <stdexcept>

#include "ropewalk/text/code_point_partition.h"

namespace ropewalk {
namespace {

CodePointSet set_of(std::initializer_list<CodePointRange> ranges) {
  return CodePointSet(std::span(ranges.begin(), ranges.size()));
}

TEST(CodePointSet, JoinsRangesThatTouch) {
  const CodePointSet set = set_of({{'x', 'z'}, {'a', 'c'}, {'d', 'f'}, {'b', 'b'}});
  ASSERT_EQ(set.ranges().size(), 2u);
  EXPECT_EQ(set.ranges()[0].last, U'f');
  EXPECT_TRUE(set.contains('e'));
  EXPECT_FALSE(set.contains('g'));
  EXPECT_FALSE(set.contains(0));
}

TEST(CodePointSet, FollowsTheLawsOfSets) {
  const CodePointSet a = set_of({{'a', 'm'}, {0x4E00, 0x9FFF}});
  const CodePointSet b = set_of({{'h', 'z'}, {0x10FFFF, 0x10FFFF}});
  EXPECT_EQ(a & b, set_of({{'h', 'm'}}));
  EXPECT_EQ((a | b).complement(), a.complement() & b.complement());
  EXPECT_EQ((a ^ b) | (a & b), a | b);
  EXPECT_EQ(a.complement().complement(), a);
  const CodePointSet everything = CodePointSet::range(0, kLastCodePoint);
  EXPECT_EQ(CodePointSet().complement(), everything);
  EXPECT_TRUE(everything.complement().empty());
}

TEST(CodePointPartition, TellsApartWhatTheSetsTellApart) {
  const std::array<CodePointSet, 2> sets = {set_of({{'a', 'm'}}),
                                            set_of({{'h', 'z'}, {0x10FFFF, 0x10FFFF}})};
  const CodePointPartition partition(sets);
  EXPECT_EQ(partition.classes(), 4);
  for (char32_t c : {U'a', U'h', U'z', U'!', U'\U0010FFFF', U'\u4E00'}) {
    for (size_t i = 0; i < sets.size(); ++i) {
      EXPECT_EQ(partition.is_member(partition.class_of(c), i), sets[i].contains(c));
    }
  }
}

TEST(CodePointPartition, RefusesMoreClassesThanAByteNames) {
  std::vector<CodePointSet> sets;
  for (char32_t c = 0; c < 256; ++c) sets.push_back(CodePointSet::of(2 * c));
  EXPECT_THROW(CodePointPartition{sets}, std::length_error);
  sets.pop_back();
  EXPECT_EQ(CodePointPartition(sets).classes(), 256);
}

}  // namespace
}  // namespace ropewalk
