// Parts of several processes are joined in the first one.
#include "ropewalk/moments/accumulators/joint_fields.h"

#include <gtest/gtest.h>

#include "ropewalk/moments/collectors/moments_collector.h"
#include "tests/moments/collectors/taken.h"
#include "tests/moments/files/small_config.h"
#include "tests/thread_job.h"

namespace ropewalk {
namespace {

constexpr int64_t kDim = 6;
constexpr int64_t kBlocks = 4;
constexpr int64_t kDocuments = 11;
const std::vector<QueryHead> kHeads{{0, 1}, {0, 3}, {2, 0}};

const ModelConfig kConfig = small_config(3, kDim);

// Queries and keys of a document, far from zero like an attention sink's.
at::Tensor vectors(int64_t document, int64_t layer, int64_t heads) {
  const auto generator = at::make_generator<at::CPUGeneratorImpl>(
      static_cast<uint64_t>(1000 * document + 10 * layer + heads));
  return at::randn({heads, 30 + document, kDim}, generator) + 5;
}

// Every `step`-th document from `first` on, through all layers.
void read(MomentsCollector& collector, int64_t first, int64_t step) {
  for (const auto& [layer, streams] : collector.streams()) {
    for (int64_t i = first; i < kDocuments; i += step) {
      Document document;
      document.index = i;
      collector.on_vectors(taken(layer, document, Positions::counted(30 + i), vectors(i, layer, 4),
                                 vectors(i, layer, 2)));
    }
  }
}

class JointMoments : public testing::TestWithParam<int> {};

// Against sums over all tokens of a block, in float64.
TEST_P(JointMoments, AreThoseOfAllDocuments) {
  ThreadJob(GetParam()).run([](const Communicator& processes) {
    MomentsCollector collector(kConfig, kHeads, {.blocks = kBlocks});
    read(collector, processes.rank(), processes.count());
    collector.join_in_first(processes);
    if (!processes.first()) return;
    const MomentsCollector::Layer& layer = collector.layers().at(2);
    for (int64_t block = 0; block < kBlocks; ++block) {
      std::vector<at::Tensor> tokens;  // of query head 0
      std::vector<at::Tensor> positions;
      for (int64_t i = block; i < kDocuments; i += kBlocks) {
        tokens.push_back(vectors(i, 2, 4)[0].to(at::kDouble));
        positions.push_back(at::arange(30 + i, at::kDouble));
      }
      const at::Tensor x = at::cat(tokens);
      const at::Tensor t = at::cat(positions);
      const at::Tensor centred = x - x.mean(0);
      const auto b = static_cast<size_t>(block);
      EXPECT_EQ(layer.counts.documents[b], static_cast<int64_t>(tokens.size()));
      EXPECT_EQ(layer.counts.tokens[b], x.size(0));
      EXPECT_NEAR(layer.counts.position_mean[b], t.mean().item<double>(), 1e-12);
      EXPECT_TRUE(at::allclose(layer.fields.at(0).at(0)[0][block], x.mean(0), 1e-6));
      EXPECT_TRUE(at::allclose(layer.fields.at(0).at(1)[0][block],
                               at::mv(centred.t(), t - t.mean()), 1e-5, 1e-3));
      const at::Tensor half = at::triu_indices(kDim, kDim);
      EXPECT_TRUE(at::allclose(layer.fields.at(0).at(2)[0][block],
                               at::mm(centred.t(), centred).index({half[0], half[1]}), 1e-5, 1e-3));
    }
  });
}

// Where each block belongs to one process, sums are added up in the same order.
TEST(JointMoments, OfBlocksOfTheirOwnAreBitForBitTheSame) {
  MomentsCollector whole(kConfig, kHeads, {.blocks = kBlocks});
  read(whole, 0, 1);
  ThreadJob(4).run([&](const Communicator& processes) {
    MomentsCollector collector(kConfig, kHeads, {.blocks = kBlocks});
    read(collector, processes.rank(), processes.count());
    collector.join_in_first(processes);
    if (!processes.first()) return;
    for (const auto& [number, layer] : whole.layers()) {
      EXPECT_EQ(collector.bytes(collector.layers().at(number)), whole.bytes(layer));
      EXPECT_EQ(collector.layers().at(number).counts, layer.counts);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Processes, JointMoments, testing::Values(2, 3, 5, 13));

}  // namespace
}  // namespace ropewalk
