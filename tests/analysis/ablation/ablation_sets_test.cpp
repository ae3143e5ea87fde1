#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ropewalk/analysis/ablation/control_sets.h"
#include "ropewalk/base/error.h"
#include "tests/analysis/replicates/made_head.h"

namespace ropewalk {
namespace {

constexpr size_t kBlocks = 16;

// `spread`: how much the number changes when a block is left out.
Estimate number(double value, double spread, std::mt19937_64& random) {
  std::normal_distribution<double> noise(0, spread);
  Estimate made{value, spread, {}};
  for (size_t b = 0; b < kBlocks; ++b) made.replicates.push_back(value + noise(random));
  return made;
}

// Layers of `heads` query heads, two per KV head; dist_range rises with the head's index.
CheckpointTable made(int64_t layers, int64_t heads, double spread) {
  CheckpointTable checkpoint;
  checkpoint.origin.n_q_heads = heads;
  checkpoint.origin.n_kv_heads = heads / 2;
  std::mt19937_64 random(1);
  for (int64_t layer = 0; layer < layers; ++layer) {
    for (int64_t head = 0; head < heads; ++head) {
      const auto position = static_cast<double>(layer * heads + head);
      add_made_head(checkpoint, layer, head,
                    {{"dist_range", number(position, spread, random)},
                     {"r_q", number(0.9, spread, random)},
                     {"r_k", number(head == 0 ? -0.9 : 0.1, spread, random)}},
                    std::vector<double>(kBlocks, 100));
    }
  }
  return checkpoint;
}

ChosenSet choose(const std::string& name, const CheckpointTable& checkpoint) {
  return choose_set(parse_set_name(name), checkpoint);
}

TEST(ChosenSet, TopAndBottomOfAColumn) {
  const CheckpointTable checkpoint = made(5, 4, 1e-6);
  EXPECT_EQ(list_heads(choose("top:dist_range:10%", checkpoint).heads), "4.2,4.3");
  EXPECT_EQ(list_heads(choose("bottom:dist_range:15%", checkpoint).heads), "0.0,0.1,0.2");
  EXPECT_EQ(list_heads(choose("top:dist_range:0.1%", checkpoint).heads), "4.3") << "one at least";
  EXPECT_EQ(list_heads(choose("bottom:r_k:25%", checkpoint).heads), "0.0,1.0,2.0,3.0,4.0");
  EXPECT_EQ(list_heads(choose("top:abs_r_k:25%", checkpoint).heads), "0.0,1.0,2.0,3.0,4.0");
}

TEST(ChosenSet, ByKvHead) {
  const ChosenSet set = choose("bottom:dist_range:20%:kv", made(5, 4, 1e-6));
  EXPECT_EQ(list_heads(set.heads), "0.0,0.1,0.2,0.3");
  EXPECT_EQ(set.among, 10);
  EXPECT_EQ(set.units, (std::vector<QueryHead>{{0, 0}, {0, 1}}));
}

TEST(ChosenSet, Classes) {
  const CheckpointTable checkpoint = made(3, 4, 1e-6);
  EXPECT_EQ(list_heads(choose("class:position-dominated", checkpoint).heads), "0.0,1.0,2.0");
  EXPECT_EQ(count_heads(choose("class:q-positional", checkpoint).heads), 9);
  EXPECT_THROW(choose("class:content-focused", checkpoint), UsageError);
}

TEST(ChosenSet, ListsAndLayers) {
  const CheckpointTable checkpoint = made(3, 4, 1e-6);
  EXPECT_EQ(list_heads(choose("layer:1", checkpoint).heads), "1.0,1.1,1.2,1.3");
  EXPECT_TRUE(std::isnan(choose("layer:1", checkpoint).overlap));
  EXPECT_THROW(choose("layer:3", checkpoint), UsageError);
  EXPECT_THROW(choose("1.0,1.4", checkpoint), UsageError);
  EXPECT_THROW(choose("top:r2cv_q:10%", checkpoint), UsageError) << "no head has that number";
}

TEST(ChosenSet, StabilityUnderItsOwnNoise) {
  const ChosenSet sure = choose("top:dist_range:10%", made(20, 10, 1e-6));
  EXPECT_DOUBLE_EQ(sure.overlap, 1);
  EXPECT_FALSE(sure.unstable());
  EXPECT_DOUBLE_EQ(sure.chance, 20.0 / (2 * 200 - 20));
  const ChosenSet noisy = choose("top:dist_range:10%", made(20, 10, 1000));
  EXPECT_LT(noisy.overlap, 0.7);
  EXPECT_TRUE(noisy.unstable());
}

std::vector<QueryHead> all_heads(int32_t layers, int32_t heads) {
  std::vector<QueryHead> all;
  for (int32_t layer = 0; layer < layers; ++layer) {
    for (int32_t head = 0; head < heads; ++head) all.push_back({layer, head});
  }
  return all;
}

ChosenSet listed(const std::vector<QueryHead>& units, bool by_kv = false) {
  ChosenSet set;
  set.name.by_kv = by_kv;
  set.units = units;
  set.heads = units_of(all_heads(10, 8), by_kv, 2).heads_of(units);
  return set;
}

TEST(ControlSets, MatchLayersAndLeaveTheSetOut) {
  const ChosenSet set = listed({{1, 0}, {1, 3}, {4, 7}});
  const ControlSets controls = draw_controls(set, all_heads(10, 8), {}, 2, 20);
  ASSERT_EQ(controls.sets.size(), 20u);
  EXPECT_EQ(controls.moved, 0);
  std::set<std::string> different;
  for (const HeadSet& control : controls.sets) {
    EXPECT_EQ(control.at(1).size(), 2u);
    EXPECT_EQ(control.at(4).size(), 1u);
    for (const QueryHead& head : set.units) EXPECT_FALSE(contains(control, head));
    different.insert(list_heads(control));
  }
  EXPECT_EQ(different.size(), 20u);
  const ControlSets fewer = draw_controls(set, all_heads(10, 8), {}, 2, 5);
  EXPECT_EQ(list_heads(fewer.sets[4]), list_heads(controls.sets[4])) << "the first of more";
  ChosenSet renamed = set;
  renamed.name.text = "another name";
  EXPECT_EQ(list_heads(draw_controls(renamed, all_heads(10, 8), {}, 2, 5).sets[0]),
            list_heads(controls.sets[0]));
}

TEST(ControlSets, ByKvHeadDrawsKvHeads) {
  const ControlSets controls =
      draw_controls(listed({{1, 0}, {4, 3}}, true), all_heads(10, 8), {}, 2, 5);
  ASSERT_EQ(controls.sets.size(), 5u);
  for (const HeadSet& control : controls.sets) {
    for (const auto& [layer, heads] : control) {
      ASSERT_EQ(heads.size(), 2u);
      EXPECT_EQ(heads[0] % 2, 0);
      EXPECT_EQ(heads[1], heads[0] + 1);
    }
  }
}

TEST(ControlSets, WhatALayerLacksComesFromTheNearest) {
  // Seven heads of layer 2, so that only one control head remains there, and six heads of nine
  // layers.
  std::vector<QueryHead> units;
  for (int32_t layer = 0; layer < 10; ++layer) {
    for (int32_t head = 0; head < (layer == 2 ? 7 : 4); ++head) units.push_back({layer, head});
  }
  const ControlSets none = draw_controls(listed(units), all_heads(10, 8), {}, 2, 20);
  EXPECT_EQ(none.why_none, "no_controls") << "the others have no room left";
  std::erase_if(units, [](const QueryHead& head) { return head.layer != 2 && head.q_head > 2; });
  const ControlSets moved = draw_controls(listed(units), all_heads(10, 8), {}, 2, 20);
  EXPECT_EQ(moved.why_none, "no_controls") << "two nearest layers have two each";
  units.insert(units.begin() + 3, {{0, 5}, {0, 6}});  // layer 1 could replace what layer 0 lacks
  const ControlSets partly = draw_controls(listed(units), all_heads(10, 8), {}, 2, 20);
  EXPECT_EQ(partly.why_none, "no_controls");
  EXPECT_EQ(partly.moved, 0) << "nothing is drawn, so nothing is moved";
  std::erase_if(units, [](const QueryHead& head) { return head.layer == 0 && head.q_head > 2; });
  std::erase_if(units, [](const QueryHead& head) { return head.layer == 2 && head.q_head > 4; });
  const ControlSets some = draw_controls(listed(units), all_heads(10, 8), {}, 2, 20);
  EXPECT_EQ(some.moved, 2);
  ASSERT_EQ(some.sets.size(), 20u);
  for (const HeadSet& control : some.sets) {
    EXPECT_EQ(control.at(2).size(), 3u);
    EXPECT_EQ(control.at(1).size() + control.at(3).size(), 8u);
  }
  // A neighbouring layer without RoPE is not used.
  const ControlSets past = draw_controls(listed(units), all_heads(10, 8), {1, 3}, 2, 20);
  for (const HeadSet& control : past.sets) {
    EXPECT_EQ(control.at(1).size(), 3u);
    EXPECT_EQ(control.at(0).size() + control.at(4).size(), 8u);
  }
}

TEST(ControlSets, NoneWhereTooManyWouldMove) {
  std::vector<QueryHead> layer;
  for (int32_t head = 0; head < 6; ++head) layer.push_back({7, head});
  const ControlSets controls = draw_controls(listed(layer), all_heads(10, 8), {}, 2, 20);
  EXPECT_TRUE(controls.sets.empty());
  EXPECT_EQ(controls.moved, 4);
  EXPECT_EQ(controls.why_none, "controls_moved");
}

TEST(ControlSets, AreDifferentOnes) {
  const ControlSets controls = draw_controls(listed({{3, 0}}), all_heads(10, 8), {}, 2, 20);
  EXPECT_EQ(controls.sets.size(), 7u) << "a layer of eight heads has no more";
}

}  // namespace
}  // namespace ropewalk
