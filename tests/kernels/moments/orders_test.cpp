// Compares the counts of larger and smaller logits with a loop.
#include "ropewalk/kernels/moments/orders.h"

#include <gtest/gtest.h>

#include <vector>

namespace ropewalk {
namespace {

TEST(Orders, AreCountedByLane) {
  for (const int64_t lanes : {16, 48}) {
    for (const int64_t steps : {0, 1, 7}) {
      std::vector<float> a, b;
      std::vector<int32_t> above(static_cast<size_t>(lanes), 0), below = above;
      for (int64_t i = 0; i < lanes * steps; ++i) {
        a.push_back(static_cast<float>(i * i % 11) - 4);
        b.push_back(static_cast<float>(i * 5 % 7) - 3);
        above[static_cast<size_t>(i % lanes)] += a.back() > b.back() ? 1 : 0;
        below[static_cast<size_t>(i % lanes)] += a.back() < b.back() ? 1 : 0;
      }
      std::vector<int32_t> found_above(above.size(), -1), found_below = found_above;
      count_orders(a.data(), b.data(), steps, lanes, found_above.data(), found_below.data());
      EXPECT_EQ(found_above, above);
      EXPECT_EQ(found_below, below);
    }
  }
}

}  // namespace
}  // namespace ropewalk
