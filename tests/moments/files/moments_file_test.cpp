#include "ropewalk/moments/files/moments_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <limits>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/mapped_file.h"
#include "tests/moments/collectors/taken.h"
#include "tests/moments/files/empty_moments.h"
#include "tests/temporary_folder.h"

namespace ropewalk {
namespace {

// One stream of one dimension; each block has this many documents of one token.
CaptureMoments moments(int64_t blocks, int64_t documents) {
  CaptureMoments result = empty_moments(blocks);
  for (int64_t& count : result.counts.documents) count = documents;
  for (int64_t& count : result.counts.tokens) count = documents;
  return result;
}

TEST(MomentsFile, RefusesCountsThatOverflowTogether) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "moments.safetensors";
  write_moments(path, moments(3000, (int64_t{1} << 52) - 1));
  try {
    read_moments(path);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("counts of block 1 are impossible"), std::string::npos)
        << error.what();
  }
  write_moments(path, moments(3, 0));
  EXPECT_EQ(read_moments(path).blocks(), 3);
}

TEST(MomentsFile, RefusesDocumentsWithNumbersThatNobodyGives) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "moments.safetensors";
  CaptureMoments one = moments(1, 1);
  for (const int64_t number : {kMostDocuments + 1, std::numeric_limits<int64_t>::max()}) {
    one.documents = {{number}};
    write_moments(path, one);
    try {
      read_moments(path);
      FAIL();
    } catch (const InputError& error) {
      EXPECT_EQ(error.what(),
                fmt::format("{}: tensor 'document.index' holds {}, expected numbers from 0 to {}",
                            path.string(), number, kMostDocuments));
    }
  }
  one.documents = {{kMostDocuments}};
  write_moments(path, one);
  EXPECT_EQ(read_moments(path).documents, one.documents);
}

// float64 can hold them, but the file's float32 cannot: after reading they would look like damage.
TEST(MomentsFile, RefusesSumsThatOverflow) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "moments.safetensors";
  CaptureMoments large = moments(2, 1);
  large.info.label = "B";
  large.keys = {{3, 1}};
  const std::vector<KeptField> fields = second_moments().fields({1});
  const auto products = std::find_if(fields.begin(), fields.end(), [](const KeptField& field) {
    return field.kind == StreamKind::key && field.name == "products";
  });
  at::Tensor& blocks = large.accumulated.front().blocks[products - fields.begin()];
  const auto complaint = [](const auto& call) -> std::string {
    try {
      call();
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  blocks.fill_(1e39);
  const std::string expected =
      "'B': keys in layer 3, head 1 are too large: sums over documents, 'key.block_products', "
      "overflow float32";
  EXPECT_EQ(complaint([&] { write_moments(path, large); }), expected);
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_EQ(complaint([&] { rounded_to_file(large); }), expected);
  blocks.fill_(3e38);  // each fits, and only that counts
  EXPECT_EQ(complaint([&] { write_moments(path, large); }), "");
  EXPECT_EQ(complaint([&] { rounded_to_file(large); }), "");
}

// Only errors need blocks; values do not.
TEST(MomentsFile, MayLackItsBlocks) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "moments.safetensors";
  CaptureMoments whole = moments(3, 0);
  write_moments(path, whole);
  std::string text = read_text_file(path, 1 << 20);
  for (size_t at = text.find(".block_mean"); at != text.npos; at = text.find(".block_mean")) {
    text.replace(at, 11, ".other_mean");
  }
  std::ofstream(path, std::ios::binary) << text;
  EXPECT_THROW(read_moments(path), InputError);
  const CaptureMoments found = read_moments(path, Blocks::if_there);
  EXPECT_FALSE(found.streams(StreamKind::query).blocks.mean.defined());
  EXPECT_TRUE(found.streams(StreamKind::key).total.mean.defined());
}

// Counts are stored once for all layers, so that all layers must have read the same documents.
TEST(MomentsFile, RefusesLayersThatReadDifferently) {
  ModelConfig config;
  config.n_layers = 2;
  config.n_q_heads = config.n_kv_heads = 1;
  config.d_head = 2;
  config.layers.resize(2);
  MomentsCollector collector(config, {{0, 0}, {1, 0}}, {.blocks = 4});
  const TemporaryFolder folder;
  const auto path = folder.path() / "moments.safetensors";
  Document document;
  document.tokens = {1, 2, 3};
  const auto read = [&](int64_t layer) {
    const at::Tensor vectors = at::ones({1, 3, 2});
    collector.on_vectors(taken(layer, document, Positions::counted(3), vectors, vectors));
  };
  read(0);
  try {
    write_moments(path, collector, {}, {{0, 1, 2}});
    FAIL();
  } catch (const std::logic_error& error) {
    EXPECT_STREQ(error.what(), "layer 1 has read 0 documents, but the first layer 1");
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  read(1);
  write_moments(path, collector, {}, {{0, 1, 2}});
  EXPECT_EQ(read_moments(path).counts.total_documents(), 1);
}

}  // namespace
}  // namespace ropewalk
