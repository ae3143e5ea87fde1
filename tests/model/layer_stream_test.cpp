#include "ropewalk/model/layer_stream.h"

#include <gtest/gtest.h>

#include "tests/model/tiny_checkpoint.h"

namespace ropewalk {
namespace {

constexpr int64_t kLast = 2;

class LayerStreamTest : public testing::Test {
 protected:
  LayerStreamTest() : opened_(tiny_.open()), reader_(opened_.reader({kLast})) {}

  // Takes every layer once and checks that it is the right one.
  std::vector<std::shared_ptr<const LayerWeights>> round(LayerStream& stream, bool more) const {
    std::vector<std::shared_ptr<const LayerWeights>> taken;
    for (int64_t layer = 0; layer <= kLast; ++layer) {
      taken.push_back(stream.take(layer, more));
      LayerWeights expected = reader_.load(layer);
      pack_projections(expected);
      EXPECT_TRUE(at::equal(taken.back()->qkv, expected.qkv)) << layer;
    }
    return taken;
  }

  TinyCheckpoint tiny_;
  TinyCheckpoint::Opened opened_;
  WeightReader reader_;
};

TEST_F(LayerStreamTest, EveryPlanGivesTheSameLayers) {
  for (const bool keep : {true, false}) {
    for (const int64_t ahead : {0, 1}) {
      LayerStream stream(reader_, MemoryPlan{keep, ahead, 0, 0});
      for (const bool more : {true, true, false}) round(stream, more);
    }
  }
}

TEST_F(LayerStreamTest, KeptLayersAreReadOnce) {
  LayerStream stream(reader_, MemoryPlan{true, 1, 0, 0});
  EXPECT_EQ(round(stream, true), round(stream, false));
}

TEST_F(LayerStreamTest, StreamedLayersAreDropped) {
  LayerStream stream(reader_, MemoryPlan{false, 1, 0, 0});
  std::weak_ptr<const LayerWeights> first = stream.take(0, false);
  EXPECT_TRUE(first.expired()) << "nobody but the caller holds it";
}

TEST_F(LayerStreamTest, MayEndAnywhere) {
  LayerStream untouched(reader_, MemoryPlan{false, 1, 0, 0});
  LayerStream stream(reader_, MemoryPlan{false, 1, 0, 0});
  stream.take(0, true);  // the stream is destroyed while layer 1 is being read
}

}  // namespace
}  // namespace ropewalk
