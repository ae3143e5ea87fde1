#include "ropewalk/text/bpe_merges.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>
#include <random>
#include <vector>

namespace ropewalk {
namespace {

using Ids = std::vector<int32_t>;

Ids merged(const BpeMerges& merges, const Ids& ids) {
  BpeScratch scratch;
  scratch.ids = ids;
  merges.apply(scratch);
  return scratch.ids;
}

// The definition: again and again the lowest rank, the leftmost of equals.
Ids merge_by_definition(const std::vector<BpeMerges::Rule>& rules, Ids ids) {
  std::map<std::pair<int32_t, int32_t>, size_t> rank;
  for (size_t i = 0; i < rules.size(); ++i) rank[{rules[i].left, rules[i].right}] = i;
  while (true) {
    size_t best = rules.size();
    size_t at = 0;
    for (size_t i = 0; i + 1 < ids.size(); ++i) {
      const auto found = rank.find({ids[i], ids[i + 1]});
      if (found != rank.end() && found->second < best) {
        best = found->second;
        at = i;
      }
    }
    if (best == rules.size()) return ids;
    ids[at] = rules[best].made;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
}

struct RandomRules {
  std::vector<BpeMerges::Rule> rules;
  Ids symbols;
};

RandomRules random_rules(std::mt19937& random, int32_t symbols, int32_t count) {
  RandomRules result;
  result.symbols.resize(static_cast<size_t>(symbols));
  std::iota(result.symbols.begin(), result.symbols.end(), 0);
  std::map<std::vector<int32_t>, int32_t> known;  // a token is its symbols
  std::vector<std::vector<int32_t>> tokens;
  for (const int32_t symbol : result.symbols) tokens.push_back({symbol});
  for (int32_t i = 0; i < count; ++i) {
    const auto left = random() % tokens.size();
    const auto right = random() % tokens.size();
    auto made = tokens[left];
    made.insert(made.end(), tokens[right].begin(), tokens[right].end());
    const auto [entry, is_new] = known.try_emplace(made, static_cast<int32_t>(tokens.size()));
    if (is_new) tokens.push_back(made);
    result.rules.push_back(
        {static_cast<int32_t>(left), static_cast<int32_t>(right), entry->second});
  }
  std::shuffle(result.rules.begin(), result.rules.end(), random);  // rules before what they use
  return result;
}

TEST(BpeMerges, FollowsTheDefinition) {
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    const auto [rules, symbols] = random_rules(random, 2 + round % 9, 5 + round);
    const BpeMerges merges(rules, symbols);
    for (const size_t size : {0, 1, 2, 5, 23, 24, 25, 60, 300}) {
      Ids ids(size);
      for (int32_t& id : ids) id = symbols[random() % symbols.size()];
      EXPECT_EQ(merged(merges, ids), merge_by_definition(rules, ids));
    }
  }
}

TEST(BpeMerges, DoesNotCutWordsWhereTokensHaveSeveralSpellings) {
  // Token 2 is a symbol and also what 0 and 1 make, so that its ends are not its own.
  const std::vector<BpeMerges::Rule> rules = {{0, 1, 2}, {2, 3, 4}};
  const BpeMerges merges(rules, Ids{0, 1, 2, 3});
  Ids ids;
  for (int i = 0; i < 20; ++i) ids.insert(ids.end(), {0, 1, 3, 2, 3});
  EXPECT_EQ(merged(merges, ids), merge_by_definition(rules, ids));
}

TEST(BpeMerges, ReadsRulesWhoseTokensLaterOnesMake) {
  std::vector<BpeMerges::Rule> rules;
  for (int32_t i = 300; i > 0; --i) rules.push_back({i, 0, i + 1});
  rules.push_back({0, 0, 1});
  const BpeMerges merges(rules, Ids{0});
  EXPECT_EQ(merged(merges, Ids(100, 0)), merge_by_definition(rules, Ids(100, 0)));
}

TEST(BpeMerges, LastRuleOfAPairCounts) {
  const std::vector<BpeMerges::Rule> rules = {{0, 1, 2}, {1, 0, 3}, {0, 1, 4}};
  EXPECT_EQ(merged(BpeMerges(rules, Ids{0, 1}), {0, 1, 0}), (Ids{0, 3}));
}

TEST(BpeMerges, TakesAMillionSymbolsInNoTime) {
  std::vector<BpeMerges::Rule> rules;
  for (int32_t i = 0; i < 20; ++i) rules.push_back({i, i, i + 1});  // doubling
  const BpeMerges merges(rules, Ids{0});
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(merged(merges, Ids(1 << 20, 0)), (Ids{20}));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  EXPECT_LT(seconds.count(), 20);  // a quadratic loop takes hours, a debug build seconds
}

}  // namespace
}  // namespace ropewalk
