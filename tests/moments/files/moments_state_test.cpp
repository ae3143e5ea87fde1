#include "ropewalk/moments/files/moments_state.h"

#include <gtest/gtest.h>

#include "ropewalk/base/files/atomic_file.h"
#include "ropewalk/base/files/mapped_file.h"
#include "ropewalk/moments/files/moments_file.h"
#include "tests/moments/collectors/taken.h"
#include "tests/moments/files/small_config.h"
#include "tests/temporary_folder.h"

namespace ropewalk {
namespace {

constexpr int64_t kDim = 6;
constexpr int64_t kBlocks = 4;
constexpr int64_t kDocuments = 10;

const ModelConfig kConfig = small_config(3, kDim);
const std::vector<QueryHead> kHeads{{0, 1}, {0, 3}, {2, 0}};

// Documents of different lengths and with different tokens.
std::vector<Document> documents(int64_t count = kDocuments) {
  std::vector<Document> all(static_cast<size_t>(count));
  for (size_t i = 0; i < all.size(); ++i) {
    all[i].index = static_cast<int64_t>(i);
    all[i].tokens.assign(50 + i, static_cast<int32_t>(i));
    all[i].set_digests();
  }
  return all;
}

// Reads documents begin … end - 1 through all layers.
void read(MomentsCollector& collector, int64_t begin, int64_t end) {
  const std::vector<Document> all = documents();
  for (const int64_t layer : {0, 2}) {
    for (int64_t i = begin; i < end; ++i) {
      at::manual_seed(static_cast<uint64_t>(100 * layer + i));
      const at::Tensor q = at::randn({4, 50 + i, kDim});
      const at::Tensor k = at::randn({2, 50 + i, kDim});
      collector.on_vectors(
          taken(layer, all[static_cast<size_t>(i)], Positions::counted(50 + i), q, k));
    }
  }
}

std::string written(const TemporaryFolder& folder, const MomentsCollector& collector) {
  std::vector<DocumentRecord> records;
  for (int64_t i = 0; i < kDocuments; ++i) records.push_back({i, 1, 2});
  write_moments(folder.path() / "moments", collector, {}, records);
  return read_text_file(folder.path() / "moments", 1 << 20);
}

const Json kIdentity{{"model", "a"}};

TEST(MomentsState, KeepsWhatWasMeasuredOfEachDocument) {
  const TemporaryFolder folder;
  const auto state = folder.path() / "state";
  const std::vector<Document> all = documents();
  MomentsCollector first(kConfig, kHeads, {.blocks = kBlocks});
  read(first, 0, 3);
  const DocumentValues loss{"loss", at::rand({3, 4}, at::kDouble)};
  save_state(state, first, {kIdentity, 3, 1.5}, std::span(all).first(3), {loss});
  MomentsCollector second(kConfig, kHeads, {.blocks = kBlocks});
  std::vector<DocumentValues> values;
  EXPECT_EQ(restore_state(state, second, kIdentity, all, &values), 3);
  ASSERT_EQ(values.size(), 1U);
  EXPECT_EQ(values[0].name, "loss");
  EXPECT_TRUE(at::equal(values[0].values, loss.values));
}

TEST(MomentsState, GoesOnWithTheSameBits) {
  const TemporaryFolder folder;
  MomentsCollector straight(kConfig, kHeads, {.blocks = kBlocks});
  read(straight, 0, kDocuments);
  const std::string expected = written(folder, straight);

  const auto state = folder.path() / "state";
  const std::vector<Document> all = documents();
  MomentsCollector first(kConfig, kHeads, {.blocks = kBlocks, .scratch = folder.path()});
  EXPECT_EQ(restore_state(state, first, kIdentity, all), 0) << "there is none yet";
  read(first, 0, 3);
  save_state(state, first, {kIdentity, 3, 1.5}, std::span(all).first(3));
  EXPECT_EQ(read_state_info(state)->documents, 3);
  EXPECT_EQ(read_state_info(state)->seconds, 1.5);
  MomentsCollector second(kConfig, kHeads, {.blocks = kBlocks, .scratch = folder.path()});
  EXPECT_EQ(restore_state(state, second, kIdentity, all), 3);
  read(second, 3, kDocuments);
  EXPECT_EQ(written(folder, second), expected);
}

// A file that held three documents.
std::filesystem::path saved(const TemporaryFolder& folder) {
  const auto state = folder.path() / "state";
  const std::vector<Document> all = documents();
  MomentsCollector collector(kConfig, kHeads, {.blocks = kBlocks});
  read(collector, 0, 3);
  save_state(state, collector, {kIdentity, 3, 1.5}, std::span(all).first(3));
  return state;
}

void expect_ignored(const std::filesystem::path& state, const Json& identity,
                    const std::vector<Document>& wanted) {
  MomentsCollector fresh(kConfig, kHeads, {.blocks = kBlocks});
  EXPECT_EQ(restore_state(state, fresh, identity, wanted), 0);
  EXPECT_EQ(fresh.layers().at(0).counts.total_documents(), 0);
  EXPECT_EQ(fresh.layers().at(0).fields.at(0).at(0).abs().sum().item<double>(), 0);
}

TEST(MomentsState, OfSomethingElseIsIgnored) {
  const TemporaryFolder folder;
  const auto state = saved(folder);
  expect_ignored(state, {{"model", "b"}}, documents());
  std::vector<Document> others = documents();
  others[1].tokens[0] = 99;
  others[1].set_digests();
  expect_ignored(state, kIdentity, others);
  expect_ignored(state, kIdentity, documents(2));  // it has read more documents than are wanted now
}

TEST(MomentsState, MoreDocumentsGoOn) {
  const TemporaryFolder folder;
  const auto state = saved(folder);
  MomentsCollector collector(kConfig, kHeads, {.blocks = kBlocks});
  EXPECT_EQ(restore_state(state, collector, kIdentity, documents(4)), 3);
}

TEST(MomentsState, EveryDamageStartsOver) {
  const TemporaryFolder folder;
  const std::string whole = read_text_file(saved(folder), 1 << 20);
  const auto state = folder.path() / "damaged";
  const size_t step = whole.size() / 97;
  for (size_t offset = 8; offset < whole.size(); offset += step) {
    std::string bytes = whole;
    bytes[offset] = static_cast<char>(bytes[offset] ^ 0x10);
    write_file_atomically(state, bytes);
    MomentsCollector collector(kConfig, kHeads, {.blocks = kBlocks});
    // Only the header's padding may change without an error.
    if (whole[offset] != ' ') {
      EXPECT_EQ(restore_state(state, collector, kIdentity, documents()), 0) << offset;
    }
  }
  write_file_atomically(state, std::string_view(whole).substr(0, whole.size() / 2));
  expect_ignored(state, kIdentity, documents());
  EXPECT_FALSE(read_state_info(state));
}

TEST(MomentsState, CarriesAMomentsFileOfAnotherProcess) {
  const TemporaryFolder folder;
  const auto state = folder.path() / "state", moments = folder.path() / "moments";
  const auto found = folder.path() / "found";
  const std::vector<Document> all = documents();
  write_file_atomically(moments, std::string(5000, 'm') + "end");
  save_part(state, moments, {kIdentity, 3, 2.5}, std::span(all).first(3));
  const auto info = read_state_info(state);
  ASSERT_TRUE(info);
  EXPECT_EQ(info->documents, 3);
  EXPECT_EQ(info->seconds, 2.5);
  EXPECT_EQ(restore_part(state, kIdentity, all, found), 3);
  EXPECT_EQ(read_text_file(found, 1 << 20), read_text_file(moments, 1 << 20));

  const auto refused = [&](const Json& identity, std::span<const Document> documents) {
    std::filesystem::remove(found);
    return restore_part(state, identity, documents, found) == 0 && !std::filesystem::exists(found);
  };
  EXPECT_TRUE(refused({{"model", "b"}}, all));
  EXPECT_TRUE(refused(kIdentity, std::span(all).subspan(1))) << "other documents";
  MomentsCollector own(kConfig, kHeads, {.blocks = kBlocks});
  EXPECT_EQ(restore_state(state, own, kIdentity, all), 0) << "it has no layers";
  std::string bytes = read_text_file(state, 1 << 20);
  bytes[bytes.find("mmmm") + 7] = 'n';
  write_file_atomically(state, bytes);
  EXPECT_TRUE(refused(kIdentity, all)) << "damaged";
}

}  // namespace
}  // namespace ropewalk
