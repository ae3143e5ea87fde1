#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>

#include "ropewalk/base/error.h"
#include "ropewalk/moments/vectors/vectors_reader.h"
#include "ropewalk/moments/vectors/vectors_writer.h"
#include "tests/temporary_folder.h"

namespace ropewalk {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kHeadDim = 3;

// n rows of a document; their numbers identify them.
struct Rows {
  Rows(int64_t document, int32_t n) : example_id(document) {
    for (int32_t i = 0; i < n; ++i) {
      positions.push_back(10 * i);
      buckets.push_back(i / 2);
      for (int64_t j = 0; j < kHeadDim; ++j) {
        vectors.push_back(static_cast<float>(document * 1000 + i) + 0.25F * static_cast<float>(j));
      }
    }
  }
  VectorRows view() const { return {example_id, positions, buckets, vectors, std::nullopt}; }

  int64_t example_id;
  std::vector<int32_t> positions, buckets;
  std::vector<float> vectors;
};

template <typename T>
void append_to(std::vector<T>& all, const std::vector<T>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

class Vectors : public testing::TestWithParam<int64_t> {};

// Rows are written at every append, now and then, or only at the end.
INSTANTIATE_TEST_SUITE_P(Memory, Vectors, testing::Values(0, 2000, 1 << 30));

TEST_P(Vectors, ReadsWhatWasWritten) {
  const TemporaryFolder folder;
  const std::vector<StreamKey> keys = {{0, 0, StreamKind::key},
                                       {0, 0, StreamKind::query},
                                       {7, 12, StreamKind::query},
                                       {101, 3, StreamKind::key}};
  std::map<StreamKey, VectorBatch> expected;
  VectorsWriter writer(folder.path(), kHeadDim, GetParam());
  for (int64_t document = 0; document < 9; ++document) {
    for (const StreamKey& key : keys) {
      const Rows rows(document, static_cast<int32_t>((document * 5 + key.layer) % 11));
      writer.append(key, rows.view());
      VectorBatch& batch = expected[key];
      append_to(batch.positions, rows.positions);
      append_to(batch.buckets, rows.buckets);
      append_to(batch.vectors, rows.vectors);
      batch.example_ids.insert(batch.example_ids.end(), rows.positions.size(), document);
    }
  }
  writer.finish();
  writer.finish();  // a second call does nothing

  const VectorsReader reader(folder.path());
  EXPECT_EQ(reader.streams(), keys);
  for (const StreamKey& key : keys) {
    const VectorBatch batch = reader.read_all(key);
    EXPECT_EQ(batch.head_dim, kHeadDim);
    EXPECT_EQ(batch.positions, expected[key].positions);
    EXPECT_EQ(batch.buckets, expected[key].buckets);
    EXPECT_EQ(batch.example_ids, expected[key].example_ids);
    EXPECT_EQ(batch.vectors, expected[key].vectors);
  }
}

TEST(VectorsReader, PassesLongStreamsOnInBatches) {
  const TemporaryFolder folder;
  VectorsWriter writer(folder.path(), kHeadDim);
  writer.append({0, 0, StreamKind::query}, Rows(1, 10000).view());
  writer.finish();
  int64_t batches = 0;
  int64_t rows = 0;
  VectorsReader(folder.path()).read({0, 0, StreamKind::query}, [&](const VectorBatch& batch) {
    ++batches;
    rows += static_cast<int64_t>(batch.positions.size());
  });
  EXPECT_EQ(rows, 10000);
  EXPECT_GT(batches, 1);
}

TEST(VectorsWriter, LeavesNoReadableFileWithoutFinish) {
  const TemporaryFolder folder;
  {
    VectorsWriter writer(folder.path(), kHeadDim, 0);
    writer.append({0, 0, StreamKind::query}, Rows(1, 10).view());
  }
  const fs::path file = folder.path() / "vectors/l00h00q/data.parquet";
  EXPECT_GT(fs::file_size(file), 0U);
  EXPECT_THROW(VectorsReader(folder.path()).read_all({0, 0, StreamKind::query}), InputError);
}

TEST(VectorsWriter, NamesTheFileWhenTheDiskIsFull) {
  const TemporaryFolder folder;
  const fs::path stream = folder.path() / "vectors/l00h00q";
  fs::create_directories(stream);
  fs::create_symlink("/dev/full", stream / "data.parquet");
  try {
    VectorsWriter writer(folder.path(), kHeadDim);
    writer.append({0, 0, StreamKind::query}, Rows(1, 10).view());
    writer.finish();
    FAIL();
  } catch (const SystemError& error) {
    EXPECT_EQ(std::string(error.what()),
              (stream / "data.parquet").string() + ": cannot write: No space left on device");
  }
}

TEST(VectorsWriter, NamesTheFolderItCannotMake) {
  const TemporaryFolder folder;
  folder.write("vectors", "a file");
  VectorsWriter writer(folder.path(), kHeadDim);
  EXPECT_THROW(writer.append({0, 0, StreamKind::query}, Rows(1, 1).view()), SystemError);
}

TEST(VectorsWriter, NoticesAFileThatVanished) {
  const TemporaryFolder folder;
  VectorsWriter writer(folder.path(), kHeadDim, 0);  // nothing stays in memory
  writer.append({0, 0, StreamKind::query}, Rows(1, 10).view());
  fs::remove(folder.path() / "vectors/l00h00q/data.parquet");
  EXPECT_THROW(writer.append({0, 0, StreamKind::query}, Rows(2, 10).view()), SystemError);
}

TEST(VectorsWriter, RefusesRowsThatDisagree) {
  const TemporaryFolder folder;
  EXPECT_THROW(VectorsWriter(folder.path(), 0), UsageError);
  VectorsWriter writer(folder.path(), kHeadDim);
  Rows rows(1, 4);
  rows.buckets.pop_back();
  EXPECT_THROW(writer.append({0, 0, StreamKind::query}, rows.view()), UsageError);
  Rows narrow(1, 4);
  narrow.vectors.pop_back();
  EXPECT_THROW(writer.append({0, 0, StreamKind::query}, narrow.view()), UsageError);
  writer.finish();
  EXPECT_THROW(writer.append({0, 0, StreamKind::query}, Rows(1, 4).view()), UsageError);
}

TEST(VectorsReader, RefusesFoldersWithoutStreams) {
  const TemporaryFolder folder;
  EXPECT_THROW(VectorsReader{folder.path()}, InputError);
  EXPECT_THROW(VectorsReader{folder.path() / "none"}, SystemError);
  fs::create_directories(folder.path() / "vectors/l00h00q");
  EXPECT_THROW(VectorsReader{folder.path()}, InputError);
  folder.write("vectors/l00h00q/data.parquet", "PAR1 no such file PAR1");
  const VectorsReader reader(folder.path());
  EXPECT_THROW(reader.read_all({0, 0, StreamKind::query}), InputError);
  EXPECT_THROW(reader.read_all({0, 1, StreamKind::query}), UsageError);
}

}  // namespace
}  // namespace ropewalk
