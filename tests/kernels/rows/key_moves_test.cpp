// How keys change places among themselves.
#include "ropewalk/kernels/rows/key_moves.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace ropewalk {
namespace {

TEST(KeyMoves, RunsAreOfRandomLengths) {
  EXPECT_EQ(shortest_run(1), 1);
  EXPECT_EQ(shortest_run(127), 1);
  EXPECT_EQ(shortest_run(128), 2);
  EXPECT_EQ(shortest_run(4095), 32);
  EXPECT_EQ(shortest_run(4096), 64);
  EXPECT_EQ(key_runs(7, 4, 1, 9), (std::vector<int64_t>{4, 5, 6, 7, 8, 9}));
  const std::vector<int64_t> runs = key_runs(7, 4, 32, 5000);
  EXPECT_EQ(runs.front(), 4);
  EXPECT_GE(runs.back(), 5000);
  EXPECT_LT(runs[runs.size() - 2], 5000);
  std::set<int64_t> lengths;
  for (size_t i = 1; i < runs.size(); ++i) lengths.insert(runs[i] - runs[i - 1]);
  EXPECT_GE(*lengths.begin(), 32);
  EXPECT_LT(*lengths.rbegin(), 64);
  EXPECT_GT(lengths.size(), 20);
  EXPECT_NE(runs, key_runs(8, 4, 32, 5000));
  // One of fewer tokens begins alike.
  const std::vector<int64_t> fewer = key_runs(7, 4, 32, 2000);
  EXPECT_TRUE(std::equal(fewer.begin(), fewer.end(), runs.begin()));
}

// Where each of the keys that a query sees ends up.
std::vector<int64_t> indexes(const std::vector<int64_t>& runs, uint64_t seed, int64_t from,
                             int64_t t) {
  const std::vector<int64_t> moves = run_moves(runs, seed, from, t);
  EXPECT_EQ(moves.size() + 1, runs.size());
  std::vector<int64_t> found;
  for (size_t run = 0; run + 1 < runs.size(); ++run) {
    for (int64_t key = runs[run]; key < runs[run + 1]; ++key) {
      if (key >= from && key <= t) found.push_back(key + moves[run]);
    }
  }
  return found;
}

TEST(KeyMoves, KeysTakeEachOthersPlaces) {
  for (const int64_t from : {4, 5, 100, 300}) {
    for (const int64_t t : {300, 301, 511, 640}) {
      const std::vector<int64_t> runs = key_runs(9, 4, shortest_run(t - from + 1), 700);
      std::vector<int64_t> found = indexes(runs, 9, from, t);
      ASSERT_EQ(found.size(), t - from + 1);
      std::vector<int64_t> all(found.size());
      std::iota(all.begin(), all.end(), from);
      EXPECT_TRUE(t - from < 2 || found != all) << from << " " << t;
      std::sort(found.begin(), found.end());
      EXPECT_EQ(found, all);
    }
  }
}

// tests/golden/rows_reference.py prints the same.
TEST(KeyMoves, AreSeeded) {
  EXPECT_EQ(key_runs(7, 4, 32, 300), (std::vector<int64_t>{4, 60, 101, 149, 199, 260, 295, 332}));
  EXPECT_EQ(indexes(key_runs(9, 4, 1, 21), 9, 4, 20),
            (std::vector<int64_t>{19, 11, 16, 7, 13, 17, 12, 5, 15, 14, 4, 6, 20, 18, 10, 9, 8}));
}

TEST(KeyMoves, OrdersHangOnDocumentAndRow) {
  const std::vector<int64_t> runs = key_runs(9, 4, 4, 700);
  EXPECT_EQ(run_moves(runs, 9, 4, 400), run_moves(runs, 9, 4, 400));
  EXPECT_NE(run_moves(runs, 9, 4, 400), run_moves(runs, 10, 4, 400));
  EXPECT_NE(indexes(runs, 9, 4, 400), indexes(runs, 9, 4, 401));
}

// Over many rows a key comes to stand everywhere.
TEST(KeyMoves, EveryKeyMovesEverywhere) {
  std::vector<int64_t> count(64, 0);
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const std::vector<int64_t> runs = key_runs(seed, 4, 1, 68);
    for (int64_t index : indexes(runs, seed, 4, 67)) {
      EXPECT_GE(index, 4);
      break;
    }
    ++count[static_cast<size_t>(indexes(runs, seed, 4, 67).front() - 4)];
  }
  EXPECT_GT(std::count_if(count.begin(), count.end(), [](int64_t n) { return n > 0; }), 50);
  EXPECT_LT(*std::max_element(count.begin(), count.end()), 12);
}

}  // namespace
}  // namespace ropewalk
