// A made-up accumulator with a made-up tap is stored like second moments.
#include "ropewalk/moments/accumulators/accumulator.h"

#include <gtest/gtest.h>

#include "ropewalk/base/error.h"
#include "ropewalk/model/forward.h"
#include "ropewalk/moments/files/merge.h"
#include "ropewalk/moments/files/moments_file.h"
#include "ropewalk/moments/files/moments_state.h"
#include "tests/model/tiny_checkpoint.h"
#include "tests/moments/collectors/made_up_accumulator.h"
#include "tests/moments/collectors/taken.h"
#include "tests/moments/files/small_config.h"
#include "tests/temporary_folder.h"

namespace ropewalk {
namespace {

constexpr int64_t kBlocks = 3;
constexpr int64_t kDim = 6;

// Values of "w" at a tap that no model has, in addition to the usual queries and keys.
class MadeUpTapTest : public testing::Test {
 protected:
  at::Tensor random(int64_t index, int64_t layer, int64_t heads, uint64_t seed) const {
    at::manual_seed(static_cast<uint64_t>(1000 * index + 10 * layer) + seed);
    return at::randn({heads, 20 + index, kDim});
  }
  void read(MomentsCollector& collector, int64_t begin, int64_t end, int64_t step = 1) const {
    for (const auto& [layer, streams] : collector.streams()) {
      for (int64_t i = begin; i < end; i += step) {
        const Document& document = documents_[static_cast<size_t>(i)];
        const Positions positions = Positions::counted(20 + i);
        collector.on_vectors(
            {layer, &document, &positions, "lunch", {{"w", random(i, layer, 2, 1)}}});
        collector.on_vectors(
            taken(layer, document, positions, random(i, layer, 4, 2), random(i, layer, 2, 3)));
      }
    }
  }
  std::filesystem::path write(const char* name, const MomentsCollector& collector, int64_t begin,
                              int64_t end, int64_t step = 1) const {
    std::vector<DocumentRecord> records;
    for (int64_t i = begin; i < end; i += step) {
      records.push_back({i, static_cast<uint64_t>(i), static_cast<uint64_t>(i)});
    }
    write_moments(folder_.path() / name, collector, {}, records);
    return folder_.path() / name;
  }

  void SetUp() override {
    documents_.resize(7);
    for (size_t i = 0; i < documents_.size(); ++i) {
      documents_[i].index = static_cast<int64_t>(i);
      documents_[i].tokens.assign(20 + i, 1);
      documents_[i].set_digests();
    }
  }

  const MadeUpAccumulator made_up_{{"lunch", "w"}};
  const AddedAccumulator added_{made_up_};
  const ModelConfig config_ = small_config(2, kDim);
  const std::vector<QueryHead> heads_{{0, 0}, {1, 2}, {1, 3}};  // KV heads 0, and 1
  const CollectorOptions options_{.blocks = kBlocks};
  TemporaryFolder folder_;
  std::vector<Document> documents_;
};

const AccumulatedFields& find(const CaptureMoments& moments) {
  EXPECT_EQ(moments.accumulated.size(), 2);
  return moments.accumulated.back();
}

TEST_F(MadeUpTapTest, ReachesTheFile) {
  MomentsCollector collector(config_, heads_, options_);
  EXPECT_EQ(collector.taps(0).back(), (Tap{"lunch", "w"}));
  EXPECT_GT(collector.workspace(10, at::kFloat, at::kCPU), 12345);
  read(collector, 0, 7);
  EXPECT_EQ(collector.layers().at(0).counts.total_documents(), 7) << "each counts once";
  const CaptureMoments moments = read_moments(write("file", collector, 0, 7));
  const AccumulatedFields& kept = find(moments);
  at::Tensor sum = at::zeros({kDim}, at::kDouble);
  at::Tensor first_block = at::zeros({kDim}, at::kDouble);
  double largest = 0;
  for (int64_t i = 0; i < 7; ++i) {
    const at::Tensor x = random(i, 1, 2, 1)[1].to(at::kDouble);
    sum += x.sum(0);
    if (i % kBlocks == 0) first_block += x.sum(0);
    largest = std::max(largest, x.square().max().item<double>());
  }
  EXPECT_TRUE(at::allclose(kept.total[0][1], sum));
  EXPECT_TRUE(at::allclose(kept.blocks[0][1][0], first_block));
  EXPECT_EQ(kept.total[1][1].item<double>(), largest);
  EXPECT_EQ(kept.blocks[1].scalar_type(), at::kFloat) << "not said to be exact";
  EXPECT_TRUE(kept.total[2].eq(7 * 20 + 21).all().item<bool>()) << "documents of 20 … 26 tokens";
  EXPECT_EQ(kept.blocks[2].numel(), 0) << "has no blocks";
}

TEST_F(MadeUpTapTest, SurvivesMergeAndResume) {
  MomentsCollector whole(config_, heads_, options_);
  read(whole, 0, 7);
  const CaptureMoments expected = read_moments(write("whole", whole, 0, 7));

  MomentsCollector even(config_, heads_, options_);
  MomentsCollector odd(config_, heads_, options_);
  read(even, 0, 7, 2);
  read(odd, 1, 7, 2);
  std::string missing;
  const CaptureMoments merged = merge_moments(
      {{"even", write("even", even, 0, 7, 2)}, {"odd", write("odd", odd, 1, 7, 2)}}, missing);
  for (size_t f = 0; f < 3; ++f) {
    EXPECT_TRUE(at::allclose(find(merged).total[f], find(expected).total[f]));
    EXPECT_TRUE(at::allclose(find(merged).blocks[f].to(at::kFloat),
                             find(expected).blocks[f].to(at::kFloat)));
  }

  const auto state = folder_.path() / "state";
  MomentsCollector first(config_, heads_, options_);
  read(first, 0, 4);
  save_state(state, first, {{{"a", 1}}, 4, 0}, std::span(documents_).first(4));
  MomentsCollector second(config_, heads_, options_);
  ASSERT_EQ(restore_state(state, second, {{"a", 1}}, documents_), 4);
  read(second, 4, 7);
  const CaptureMoments resumed = read_moments(write("resumed", second, 0, 7));
  for (size_t f = 0; f < 3; ++f) {
    EXPECT_TRUE(at::equal(find(resumed).total[f], find(expected).total[f]));
  }
}

TEST_F(MadeUpTapTest, IsNotInAFileOfAnotherEdition) {
  MomentsCollector collector(config_, heads_, options_);
  read(collector, 0, 7);
  const auto path = write("new", collector, 0, 7);
  struct Renamed : MadeUpAccumulator {
    using MadeUpAccumulator::MadeUpAccumulator;
    std::string name() const override { return "later"; }
  };
  const Renamed renamed{{"lunch", "w"}};
  const AddedAccumulator later(renamed);
  EXPECT_EQ(read_moments(path).accumulated.size(), 2) << "what the file lacks is not there";
}

// Values of a real model, which no accumulator uses by default, in the same pass as the moments.
TEST(MadeUpAccumulator, TakesValuesInTheSamePass) {
  TinyCheckpoint tiny;
  const auto opened = tiny.open();
  const WeightReader reader = opened.reader({2});
  const MadeUpAccumulator made_up{{kPreRope, "v"}};
  const AddedAccumulator added(made_up);
  const auto documents = tiny_documents({9, 30, 17});
  MomentsCollector collector(opened.model.config, {{0, 0}, {1, 1}}, {.blocks = 2});
  ForwardOptions options;
  options.memory = int64_t{1} << 30;
  Observer* const observers[] = {&collector};
  run_forward(opened.model.config, reader, documents, observers, options);
  const auto& layer = collector.layers().at(1);
  EXPECT_EQ(layer.counts.total_documents(), 3);
  EXPECT_GT(layer.fields.back().at(1).abs().sum().item<double>(), 0);
  EXPECT_GT(layer.fields.at(0).at(2).abs().sum().item<double>(), 0);
}

}  // namespace
}  // namespace ropewalk
