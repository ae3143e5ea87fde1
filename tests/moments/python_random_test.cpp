#include "ropewalk/moments/python_random.h"

#include <gtest/gtest.h>

#include <limits>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

// Expected values are CPython's; tests/golden/capture/test_sampling.py compares thousands more.

using Sample = std::vector<int64_t>;

TEST(PythonRandom, SamplesAsPythonDoes) {
  EXPECT_EQ(PythonRandom(0).sample(10, 4), (Sample{6, 9, 0, 2}));
  EXPECT_EQ(PythonRandom(-5).sample(10, 4), (Sample{9, 4, 5, 6}));
  EXPECT_EQ(PythonRandom(5).sample(10, 4), (Sample{9, 4, 5, 6}));
  EXPECT_EQ(PythonRandom(int64_t{1} << 32).sample(10, 4), (Sample{1, 5, 6, 0}));
  EXPECT_EQ(PythonRandom(1).sample(1000, 3), (Sample{137, 582, 867}));  // the branch with a set
  EXPECT_EQ(PythonRandom(1).sample(3, 0), Sample{});
  EXPECT_EQ(PythonRandom(1).sample(0, 0), Sample{});
}

TEST(PythonRandom, SeedsOf64Bits) {
  EXPECT_EQ(PythonRandom(7).getrandbits(64), 17485029721327973432U);
  EXPECT_EQ(PythonRandom(std::numeric_limits<int64_t>::min()).getrandbits(64),
            7266025828921626888U);
  EXPECT_EQ(PythonRandom(std::numeric_limits<int64_t>::max()).getrandbits(33), 5654946719U);
}

TEST(PythonRandom, RefusesSamplesLargerThanThePopulation) {
  EXPECT_THROW(PythonRandom(0).sample(3, 4), UsageError);
  EXPECT_THROW(PythonRandom(0).sample(3, -1), UsageError);
}

}  // namespace
}  // namespace ropewalk
