#include "ropewalk/moments/moments_state.h"

#include <gtest/gtest.h>

#include "ropewalk/base/error.h"
#include "ropewalk/base/mapped_file.h"
#include "ropewalk/moments/moments_file.h"
#include "tests/temporary_folder.h"

namespace ropewalk {
namespace {

constexpr int64_t kDim = 6;
constexpr int64_t kBlocks = 4;
constexpr int64_t kDocuments = 10;

ModelConfig config() {
  ModelConfig config;
  config.n_layers = 3;
  config.n_q_heads = 4;
  config.n_kv_heads = 2;
  config.d_head = kDim;
  config.layers.resize(3);
  return config;
}

const std::vector<QueryHead> kHeads{{0, 1}, {0, 3}, {2, 0}};

// Documents begin … end - 1 through all layers.
void read(MomentsCollector& collector, int64_t begin, int64_t end) {
  for (const int64_t layer : {0, 2}) {
    for (int64_t i = begin; i < end; ++i) {
      at::manual_seed(static_cast<uint64_t>(100 * layer + i));
      Document document;
      document.index = i;
      collector.collect(
          {layer, &document, at::randn({4, 50 + i, kDim}), at::randn({2, 50 + i, kDim})});
    }
  }
}

std::string written(const TemporaryFolder& folder, const MomentsCollector& collector) {
  std::vector<DocumentRecord> records;
  for (int64_t i = 0; i < kDocuments; ++i) records.push_back({i, 1, 2});
  write_moments(folder.path() / "moments", collector, {{"format", 1}}, records);
  return read_text_file(folder.path() / "moments", 1 << 20);
}

TEST(MomentsState, GoesOnWithTheSameBits) {
  const TemporaryFolder folder;
  MomentsCollector straight(config(), kHeads, kBlocks);
  read(straight, 0, kDocuments);
  const std::string expected = written(folder, straight);

  const auto state = folder.path() / "state";
  const Json info{{"model", "a"}};
  MomentsCollector first(config(), kHeads, kBlocks, folder.path());
  EXPECT_EQ(restore_state(state, first, info), 0) << "there is none yet";
  read(first, 0, 3);
  save_state(state, first, info, 3);
  MomentsCollector second(config(), kHeads, kBlocks, folder.path());
  EXPECT_EQ(restore_state(state, second, info), 3);
  read(second, 3, kDocuments);
  EXPECT_EQ(written(folder, second), expected);
}

TEST(MomentsState, OfSomethingElseIsIgnored) {
  const TemporaryFolder folder;
  const auto state = folder.path() / "state";
  MomentsCollector collector(config(), kHeads, kBlocks);
  read(collector, 0, 1);
  save_state(state, collector, {{"model", "a"}}, 1);
  MomentsCollector fresh(config(), kHeads, kBlocks);
  EXPECT_EQ(restore_state(state, fresh, {{"model", "b"}}), 0);
  EXPECT_EQ(fresh.layers().at(0).counts.total_documents(), 0);
}

TEST(MomentsState, ADamagedFileIsRefused) {
  const TemporaryFolder folder;
  const auto state = folder.path() / "state";
  const Json info{{"model", "a"}};
  MomentsCollector other(config(), {{0, 1}}, kBlocks);
  save_state(state, other, info, 0);
  MomentsCollector collector(config(), kHeads, kBlocks);
  EXPECT_THROW(restore_state(state, collector, info), InputError);
}

}  // namespace
}  // namespace ropewalk
