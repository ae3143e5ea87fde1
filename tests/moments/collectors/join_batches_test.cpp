#include "ropewalk/moments/collectors/join_batches.h"

#include <gtest/gtest.h>

#include "ropewalk/moments/tensors/tensor_capture.h"
#include "tests/thread_job.h"

namespace ropewalk {
namespace {

constexpr int64_t kDim = 4;
constexpr int64_t kBlocks = 32;

TensorShape shape_of(int64_t blocks) {
  return {.layers = 2, .q_heads = 4, .kv_heads = 2, .head_dim = kDim, .blocks = blocks};
}

at::Tensor vectors(int64_t heads, int64_t tokens, uint64_t seed) {
  return at::randn({heads, tokens, kDim}, at::make_generator<at::CPUGeneratorImpl>(seed)) + 3;
}

// Adds one document of the batch with this number.
void add(TensorCapture& capture, int64_t number, int64_t document) {
  const auto seed = static_cast<uint64_t>(number);
  capture.add(1, document, vectors(4, 3 + number % 7, seed),
              vectors(2, 3 + number % 7, seed + 500));
}

// The result of a job in which each process measured its own batches, and the most numbers that a
// process sent.
struct JointRun {
  CaptureMoments moments;
  size_t sent = 0;
};

JointRun measured(int processes, int64_t batches, const std::vector<int64_t>& missing = {}) {
  const auto all = static_cast<size_t>(processes * batches);
  SharedBatches shared{batches, std::min<int64_t>(kBlocks, processes * batches),
                       std::vector<int64_t>(all, 1)};
  for (const int64_t number : missing) shared.documents[static_cast<size_t>(number)] = 0;
  JointRun joint;
  ThreadJob job(processes);
  job.run([&](const Communicator& mine) {
    TensorCapture capture(shape_of(batches));
    for (const int64_t number : shared.of_process(mine.rank())) {
      add(capture, number, number - mine.rank() * batches);
    }
    const auto found = capture.join(shared, {1}, shape_of(batches), mine);
    if (found) joint.moments = found->moments();
  });
  for (int rank = 0; rank < processes; ++rank) {
    joint.sent = std::max(joint.sent, job.numbers_sent(rank));
  }
  return joint;
}

void expect_same(const CaptureMoments& found, const CaptureMoments& expected) {
  EXPECT_EQ(found.counts, expected.counts);
  EXPECT_EQ(found.documents, expected.documents);
  for (const StreamKind kind : {StreamKind::query, StreamKind::key}) {
    const StreamSet ours = found.streams(kind), theirs = expected.streams(kind);
    EXPECT_EQ(ours.ids, theirs.ids);
    EXPECT_TRUE(ours.blocks.mean.equal(theirs.blocks.mean));
    EXPECT_TRUE(ours.blocks.products.equal(theirs.blocks.products));
    EXPECT_TRUE(ours.total.position.equal(theirs.total.position));
  }
}

TEST(JoinBatches, AProcessSendsWhatItsOwnBatchesTake) {
  const JointRun few = measured(2, 1), some = measured(64, 1), many = measured(256, 1);
  EXPECT_EQ(some.sent, few.sent);
  EXPECT_EQ(many.sent, few.sent);
  EXPECT_EQ(few.moments.blocks(), 2);
  EXPECT_EQ(many.moments.blocks(), kBlocks);
  EXPECT_EQ(many.moments.counts.documents, std::vector<int64_t>(kBlocks, 8));
}

TEST(JoinBatches, BlocksAndTheirOrderDoNotDependOnWhoMeasured) {
  const CaptureMoments spread = measured(64, 1).moments;
  expect_same(measured(32, 2).moments, spread);
  expect_same(measured(3, 22, {64, 65}).moments, spread);
  expect_same(measured(1, 64).moments, spread);
}

TEST(JoinBatches, SumsAreThoseOfAllBatches) {
  const std::vector<int64_t> missing{0, 1, 5, 40, 63};
  const JointRun joint = measured(16, 4, missing);
  TensorCapture whole(shape_of(kBlocks));
  for (int64_t number = 0; number < 64; ++number) {
    if (std::find(missing.begin(), missing.end(), number) != missing.end()) continue;
    add(whole, number, number);
  }
  const CaptureMoments all = whole.moments();
  EXPECT_EQ(joint.moments.documents, all.documents);
  EXPECT_EQ(joint.moments.counts.tokens, all.counts.tokens);
  EXPECT_TRUE(at::allclose(joint.moments.streams(StreamKind::key).blocks.products,
                           all.streams(StreamKind::key).blocks.products));
}

TEST(JoinBatches, ABlockThatIsLeftOutLeavesNothing) {
  TensorCapture capture(shape_of(4)), without(shape_of(4));
  for (int64_t document = 0; document < 8; ++document) {
    add(capture, document, document);
    if (document % 4 != 2) add(without, document, document);
  }
  capture.leave_out(2);
  expect_same(capture.moments(), without.moments());
}

}  // namespace
}  // namespace ropewalk
