#include "ropewalk/model/memory_plan.h"

#include <gtest/gtest.h>

#include "ropewalk/base/error.h"
#include "tests/model/tiny_checkpoint.h"

namespace ropewalk {
namespace {

// Three layers of 100, 300 and 200 bytes; a document of 50.
const MemoryNeeds kNeeds{{100, 300, 200}, 50};

TEST(MemoryPlan, KeepsAllWeightsWhereTheyFit) {
  const MemoryPlan plan = plan_memory(kNeeds, 650);
  EXPECT_TRUE(plan.keep_weights);
  EXPECT_EQ(plan.layers_ahead, 1);
  EXPECT_EQ(plan.weights, 600);
  EXPECT_EQ(plan.hidden_budget, 50);
}

TEST(MemoryPlan, StreamsTwoLayersAtATime) {
  // 2 * 300 + 50 is the same 650 here; a fourth layer makes the difference.
  const MemoryNeeds needs{{100, 300, 200, 100}, 50};
  EXPECT_TRUE(plan_memory(needs, 750).keep_weights);
  const MemoryPlan plan = plan_memory(needs, 749);
  EXPECT_FALSE(plan.keep_weights);
  EXPECT_EQ(plan.layers_ahead, 1);
  EXPECT_EQ(plan.weights, 600);
  EXPECT_EQ(plan.hidden_budget, 149);
}

TEST(MemoryPlan, StreamsOneLayerWhereTwoDoNotFit) {
  const MemoryPlan plan = plan_memory(kNeeds, 649);
  EXPECT_FALSE(plan.keep_weights);
  EXPECT_EQ(plan.layers_ahead, 0);
  EXPECT_EQ(plan.weights, 300);
  EXPECT_EQ(plan.hidden_budget, 349);
  EXPECT_EQ(plan_memory(kNeeds, 350).hidden_budget, 50);
}

TEST(MemoryPlan, NamesTheLeastBudgetThatWorks) {
  try {
    plan_memory(kNeeds, 349);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_STREQ(
        error.what(),
        "memory: a budget of 349 B is too small: one layer's weights (300 B), its moments (0 B) "
        "and one document (50 B) need 350 B");
    EXPECT_EQ(error.field(), "memory");
  }
}

TEST(MemoryPlan, StreamsExpertsWhereALayerDoesNotFit) {
  MemoryNeeds needs = kNeeds;
  needs.thin_layer = 120;
  EXPECT_TRUE(plan_memory(needs, 350).keep_experts);
  const MemoryPlan plan = plan_memory(needs, 349);
  EXPECT_FALSE(plan.keep_experts);
  EXPECT_FALSE(plan.keep_weights);
  EXPECT_EQ(plan.layers_ahead, 0);
  EXPECT_EQ(plan.weights, 120);
  EXPECT_EQ(plan.hidden_budget, 229);
  try {
    plan_memory(needs, 169);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("one layer's weights with one expert (120 B)"),
              std::string::npos)
        << error.what();
  }
}

TEST(MemoryPlan, CountsAWorkspaceThatTheBudgetCovers) {
  MemoryNeeds needs = kNeeds;
  needs.workspace = 1000;
  EXPECT_EQ(plan_memory(needs, 1650).hidden_budget, 50);
  EXPECT_TRUE(plan_memory(needs, 1650).keep_weights);
  try {
    plan_memory(needs, 1349);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("its workspace (1000 B) and one document (50 B) need"),
              std::string::npos)
        << error.what();
  }
}

std::vector<int64_t> group_sizes(const std::vector<int64_t>& lengths, const GroupLimits& limits) {
  const std::vector<Document> documents = tiny_documents(lengths);
  std::vector<int64_t> sizes;
  const Document* next = documents.data();
  for (const auto& group : group_documents(documents, 10, limits)) {
    EXPECT_EQ(group.data(), next) << "consecutive, none left out";
    next += group.size();
    sizes.push_back(static_cast<int64_t>(group.size()));
  }
  EXPECT_EQ(next, documents.data() + documents.size());
  return sizes;
}

TEST(GroupDocuments, FillsTheBudget) {
  using Sizes = std::vector<int64_t>;
  EXPECT_EQ(group_sizes({}, {100}), Sizes{});
  EXPECT_EQ(group_sizes({5, 5, 5}, {150}), Sizes{3});
  EXPECT_EQ(group_sizes({5, 5, 5}, {149}), (Sizes{2, 1}));
  EXPECT_EQ(group_sizes({5, 5, 5}, {50}), (Sizes{1, 1, 1}));
  EXPECT_EQ(group_sizes({1, 9, 2, 8, 1}, {100}), (Sizes{2, 2, 1}));
  EXPECT_EQ(group_sizes({20, 1, 20}, {10}), (Sizes{1, 1, 1})) << "at least one document each";
}

TEST(GroupDocuments, ObeysTheLimitOfDocuments) {
  using Sizes = std::vector<int64_t>;
  const std::vector<int64_t> ten(10, 1);
  EXPECT_EQ(group_sizes(ten, {100, 4}), (Sizes{4, 4, 2}));
  EXPECT_EQ(group_sizes(ten, {30, 4}), (Sizes{3, 3, 3, 1})) << "whatever fits";
}

TEST(MemoryNeeds, CountsWhatLoadHolds) {
  TinyCheckpoint tiny;
  const auto opened = tiny.open();
  const WeightReader reader = opened.reader({1});
  const MemoryNeeds needs = memory_needs(opened.model.config, reader, 77, 1000);
  const int64_t qk = 16 + (24 + 12) * 16;
  const int64_t rest = 12 * 16 + 16 * 24 + 16 + 3 * 24 * 16;
  EXPECT_EQ(needs.layer_bytes, (std::vector<int64_t>{4 * (qk + rest), 4 * qk}))
      << "of the last layer only what queries and keys need";
  EXPECT_EQ(needs.longest_hidden, 77 * 16 * 4);
  EXPECT_EQ(needs.workspace, 0) << "on a CPU it comes on top";
  EXPECT_EQ(needed_elements(*opened.model.architecture, opened.model.config, {1}), 2 * qk + rest)
      << "the config alone tells";
}

}  // namespace
}  // namespace ropewalk
