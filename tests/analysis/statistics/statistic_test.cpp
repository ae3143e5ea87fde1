#include "ropewalk/analysis/statistics/statistic.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ropewalk/analysis/replicates/logit_units.h"

namespace ropewalk {
namespace {

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

const Statistic* find(const std::string& key) {
  for (const Statistic* one : statistics()) {
    if (one->key == key) return one;
  }
  return nullptr;
}

// Figures and the page show a definition without those of neighbouring columns.
TEST(Statistic, ADefinitionIsReadAlone) {
  for (const Statistic* one : statistics()) {
    const std::string& text = one->definition;
    const auto says = [&](const char* words) { return text.find(words) != std::string::npos; };
    for (const char* lean : {"the same for", "of both", "the four", "likewise", "replicate"}) {
      EXPECT_FALSE(says(lean)) << one->key << ": " << text;
    }
    EXPECT_TRUE(!says("the separation axis") || says("orthogonal to the drift axis") ||
                says("`var_frac_b`"))
        << one->key << ": " << text;
  }
}

TEST(Statistic, QueriesAndKeysAreDefinedInTheSameWords) {
  int pairs = 0;
  for (const Statistic* one : statistics()) {
    const std::string key = replaced(one->key + "_", "_q_", "_k_");
    const Statistic* other = find(key.substr(0, key.size() - 1));
    if (other == nullptr || other == one) continue;
    const std::string own = replaced(replaced(one->definition, "queries", "keys"), "query", "key");
    EXPECT_EQ(own, replaced(other->definition, "queries", "keys")) << one->key;
    ++pairs;
  }
  EXPECT_GE(pairs, 10);
}

TEST(Statistic, ANumberPerTokenHasAUnitOverTheContext) {
  const LogitUnits units{0.5, 101};
  EXPECT_EQ(unit_size(find("bias_context")->unit, units), 1);
  EXPECT_EQ(unit_size(find("alpha_k")->unit, units), 0.01);
  EXPECT_EQ(unit_size(find("bias_strength")->unit, units), 0.02);
  EXPECT_EQ(unit_size(find("bias_off")->unit, units), 0.02);
  EXPECT_TRUE(std::isnan(unit_size(Unit::per_token, {})));
  for (const Statistic* one : statistics()) {
    const bool says = one->definition.find("per token") != std::string::npos;
    EXPECT_EQ(one->unit != Unit::one, says) << one->key << ": " << one->definition;
  }
}

}  // namespace
}  // namespace ropewalk
