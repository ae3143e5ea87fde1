// Captures of different documents are joined and compared with sums over all tokens in float64.
#include "ropewalk/moments/files/merge.h"

#include <gtest/gtest.h>

#include "ropewalk/base/error.h"
#include "tests/moments/collectors/made_up_accumulator.h"
#include "tests/moments/collectors/taken.h"
#include "tests/moments/files/small_config.h"
#include "tests/temporary_folder.h"

namespace ropewalk {
namespace {

constexpr int64_t kBlocks = 4;
constexpr int64_t kDim = 5;
constexpr int64_t kDocuments = 13;
const std::vector<QueryHead> kHeads{{0, 1}, {0, 3}, {1, 2}};  // KV heads 0 and 1, and 1

int64_t tokens_of(int64_t document) { return 17 + 3 * document; }

// Far from zero, like an attention sink's; each document has another mean.
at::Tensor vectors(int64_t document, int64_t layer, int64_t heads) {
  const auto generator = at::make_generator<at::CPUGeneratorImpl>(
      static_cast<uint64_t>(1000 * document + 10 * layer + heads));
  return at::randn({heads, tokens_of(document), kDim}, generator) + 4 +
         static_cast<double>(document);
}

DocumentRecord record_of(int64_t document) {
  return {document, 100 + static_cast<uint64_t>(document), 200 + static_cast<uint64_t>(document)};
}

CaptureInfo info_of(std::optional<Shard> shard = {}) {
  CaptureInfo info;
  info.model = "tiny";
  info.label = "step-7";
  info.weights = "same";
  info.context = 64;
  info.point = kPostRope;
  info.heads = kHeads;
  info.blocks = kBlocks;
  info.shard = shard;
  return info;
}

class Merge : public testing::Test {
 protected:
  // Writes a capture of these documents. Returns it as an input with its name.
  MergeInput capture(const std::string& name, const std::vector<int64_t>& documents,
                     const CaptureInfo& info = info_of()) const {
    MomentsCollector collector(small_config(2, kDim), kHeads, {.blocks = kBlocks});
    std::vector<DocumentRecord> records;
    for (const int64_t i : documents) {
      Document document;
      document.index = i;
      const Positions positions = Positions::counted(tokens_of(i));
      for (const auto& [layer, streams] : collector.streams()) {
        if (has_tap_at(collector.taps(layer), "lunch")) {
          collector.on_vectors(
              {layer, &document, &positions, "lunch", {{"w", vectors(i, layer, 2)}}});
        }
        collector.on_vectors(
            taken(layer, document, positions, vectors(i, layer, 4), vectors(i, layer, 2)));
      }
      records.push_back(record_of(i));
    }
    write_moments(folder_.path() / name, collector, info, records);
    return {name, folder_.path() / name};
  }
  // Every `count`-th document.
  MergeInput shard(int64_t index, int64_t count) const {
    std::vector<int64_t> documents;
    for (int64_t i = index; i < kDocuments; i += count) documents.push_back(i);
    return capture("shard " + std::to_string(index), documents, info_of(Shard{index, count}));
  }
  static CaptureMoments merge(const std::vector<MergeInput>& inputs) {
    std::string missing;
    return merge_moments(inputs, missing);
  }
  static std::string missing_of(const std::vector<MergeInput>& inputs) {
    std::string missing;
    merge_moments(inputs, missing);
    return missing;
  }
  static std::string error_of(const std::vector<MergeInput>& inputs) {
    try {
      merge(inputs);
    } catch (const InputError& error) {
      return error.what();
    }
    return "no error";
  }

 private:
  TemporaryFolder folder_;
};

// Vectors and positions of every `step`-th document, as one sample.
struct Sample {
  at::Tensor x;  // [tokens, d] float64
  at::Tensor t;  // [tokens] float64

  Sample(int64_t layer, int64_t head, int64_t heads, int64_t first = 0, int64_t step = 1) {
    std::vector<at::Tensor> rows, times;
    for (int64_t i = first; i < kDocuments; i += step) {
      rows.push_back(vectors(i, layer, heads)[head].to(at::kDouble));
      times.push_back(at::arange(tokens_of(i), at::kDouble));
    }
    x = at::cat(rows);
    t = at::cat(times);
  }
  at::Tensor centred() const { return x - x.mean(0); }
  at::Tensor position() const { return at::mv(centred().t(), t - t.mean()); }
  at::Tensor products() const { return at::mm(centred().t(), centred()); }
};

void expect_close(const at::Tensor& found, const at::Tensor& expected) {
  const double size = expected.abs().max().item<double>();
  const double error = (found.to(at::kDouble) - expected).abs().max().item<double>();
  EXPECT_LT(error, 1e-6 * size) << found << expected;
}

TEST_F(Merge, HoldsTheMomentsOfAllDocuments) {
  const CaptureMoments merged = merge({shard(0, 3), shard(1, 3), shard(2, 3)});
  for (const StreamKind kind : {StreamKind::query, StreamKind::key}) {
    const StreamSet set = merged.streams(kind);
    const int64_t heads = kind == StreamKind::query ? 4 : 2;
    ASSERT_EQ(set.ids.size(), 3);
    for (size_t row = 0; row < set.ids.size(); ++row) {
      const auto [layer, head] = set.ids[row];
      const auto r = static_cast<int64_t>(row);
      const Sample all(layer, head, heads);
      expect_close(set.total.mean[r], all.x.mean(0));
      expect_close(set.total.position[r], all.position());
      expect_close(unpack_triangle(set.total.products[r], kDim), all.products());
      for (int64_t b = 0; b < kBlocks; ++b) {
        const Sample block(layer, head, heads, b, kBlocks);
        expect_close(set.blocks.mean[r][b], block.x.mean(0));
        expect_close(set.blocks.position[r][b], block.position());
        expect_close(unpack_triangle(set.blocks.products[r][b], kDim), block.products());
      }
    }
  }
}

TEST_F(Merge, CountsAndNamesAllDocuments) {
  const CaptureMoments merged = merge({shard(0, 2), shard(1, 2)});
  std::vector<DocumentRecord> records;
  for (int64_t i = 0; i < kDocuments; ++i) records.push_back(record_of(i));
  EXPECT_EQ(merged.documents, records);
  EXPECT_EQ(merged.info.documents, kDocuments);
  EXPECT_EQ(merged.info.corpus, documents_digest(records));
  EXPECT_FALSE(merged.info.shard);
  int64_t tokens = 0;
  for (int64_t b = 0; b < kBlocks; ++b) {
    const at::Tensor t = Sample(0, 0, 2, b, kBlocks).t;
    const auto i = static_cast<size_t>(b);
    tokens += t.size(0);
    EXPECT_EQ(merged.counts.documents[i], b == 0 ? 4 : 3);
    EXPECT_EQ(merged.counts.tokens[i], t.size(0));
    EXPECT_NEAR(merged.counts.position_mean[i], t.mean().item<double>(), 1e-12);
    EXPECT_NEAR(merged.counts.position_scatter[i], (t - t.mean()).square().sum().item<double>(),
                1e-8);
  }
  EXPECT_EQ(merged.info.tokens, tokens);
}

TEST_F(Merge, TimesOfMeasuringAdd) {
  CaptureMoments whole = read_moments(capture("a", {0}).file);
  CaptureMoments part = read_moments(capture("b", {1}).file);
  whole.info.seconds = 1.5;
  part.info.seconds = 2;
  join_capture(whole, part);
  EXPECT_EQ(whole.info.seconds, 3.5);
  EXPECT_EQ(whole.info.documents, 2);
}

TEST_F(Merge, OrderOfTheInputsDoesNotMatter) {
  const MergeInput a = capture("a", {0, 5, 9}), b = capture("b", {2, 3}), c = capture("c", {1, 12});
  const CaptureMoments first = merge({a, b, c});
  for (const auto& inputs : {std::vector{c, b, a}, std::vector{b, a, c}}) {
    const CaptureMoments other = merge(inputs);
    EXPECT_EQ(other.info.to_json(), first.info.to_json());
    EXPECT_EQ(other.documents, first.documents);
    EXPECT_EQ(other.counts, first.counts);
    for (size_t f = 0; f < first.accumulated[0].total.size(); ++f) {
      EXPECT_TRUE(at::equal(other.accumulated[0].total[f], first.accumulated[0].total[f]));
      EXPECT_TRUE(at::equal(other.accumulated[0].blocks[f], first.accumulated[0].blocks[f]));
    }
  }
}

TEST_F(Merge, ACaptureThatReadNothingChangesNothing) {
  const MergeInput some = capture("some", {0, 1, 2}), none = capture("none", {});
  const CaptureMoments alone = merge({some}), merged = merge({none, some});
  EXPECT_EQ(merged.counts, alone.counts);
  for (size_t f = 0; f < alone.accumulated[0].total.size(); ++f) {
    EXPECT_TRUE(at::equal(merged.accumulated[0].total[f], alone.accumulated[0].total[f]));
    EXPECT_TRUE(at::equal(merged.accumulated[0].blocks[f].to(at::kFloat),
                          alone.accumulated[0].blocks[f].to(at::kFloat)));
  }
}

TEST_F(Merge, TakesTheNamesThatACaptureHasNow) {
  MergeInput renamed = capture("a", {0, 1});
  renamed.names = info_of().names();
  renamed.names->label = "step-8";
  EXPECT_EQ(merge({capture("b", {2}), renamed}).info.label, "step-8");
}

TEST_F(Merge, RefusesADocumentThatIsThereTwice) {
  const MergeInput a = capture("a", {0, 3, 4}), b = capture("b", {3, 5});
  EXPECT_EQ(error_of({a, b}), "a and b cannot be merged: both hold document 3");
  // The same text with another number.
  CaptureMoments other = read_moments(capture("c", {6}).file);
  other.documents[0].digest = record_of(4).digest;
  MergeInput c = capture("c", {6});
  write_moments(c.file, other);
  EXPECT_EQ(error_of({a, c}),
            "a and c cannot be merged: document 6 of the latter is also in the former "
            "(digest 0000000000000068)");
  EXPECT_EQ(error_of({capture("d", {0, 1}), capture("e", {2})}), "no error");
}

TEST_F(Merge, RefusesWhatWasMeasuredInAnotherWay) {
  const MergeInput a = capture("a", {0});
  CaptureInfo other = info_of();
  other.context = 128;
  EXPECT_EQ(error_of({a, capture("b", {1}, other)}),
            "a and b cannot be merged: context is 64 and 128");
  other = info_of();
  other.weights = "others";
  EXPECT_EQ(error_of({a, capture("b", {1}), capture("c", {2}, other)}),
            "a and c cannot be merged: weights is 'same' and 'others'");
  other = info_of();
  other.heads.pop_back();
  EXPECT_EQ(error_of({a, capture("b", {1}, other)}),
            "a and b cannot be merged: heads are not the same (3 and 2 query heads)");
  EXPECT_THROW(merge({}), UsageError);
}

// A file may have a fitting description but hold other streams.
TEST_F(Merge, RefusesOtherStreamsAndBlocks) {
  CaptureMoments whole = read_moments(capture("a", {0}).file);
  CaptureMoments part = read_moments(capture("b", {1}).file);
  part.queries.back().head = 3;
  try {
    join_capture(whole, part);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "captures of 3 and 3 query heads in 4 and 4 blocks cannot be joined");
  }
  part = read_moments(capture("b", {1}).file);
  part.counts = BlockCounts(kBlocks + 1);
  EXPECT_THROW(join_capture(whole, part), InputError);
}

TEST_F(Merge, SaysWhatIsMissing) {
  EXPECT_EQ(missing_of({shard(0, 4), shard(2, 4)}), "shards 1/4, 3/4");
  EXPECT_EQ(missing_of({shard(0, 3), shard(1, 3), shard(2, 3)}), "");
  EXPECT_EQ(missing_of({shard(0, 9), shard(8, 9)}), "shards 1/9, 2/9, 3/9, 4/9, 5/9 and 2 more");
  EXPECT_EQ(missing_of({capture("a", {0, 1}), capture("b", {3})}), "document 2");
  EXPECT_EQ(missing_of({capture("a", {1}), capture("b", {9})}),
            "documents 0, 2, 3, 4, 5 and 3 more");
  EXPECT_EQ(missing_of({capture("a", {0}), capture("b", {1, 2})}), "");
}

TEST_F(Merge, DropsWhatOneOfThemLacks) {
  const MergeInput older = capture("older", {1});
  const MadeUpAccumulator made_up{{"lunch", "w"}};
  const AddedAccumulator added(made_up);
  const MergeInput newer = capture("newer", {0}), newest = capture("newest", {2});
  EXPECT_EQ(merge({newer, newest}).accumulated.size(), 2);
  EXPECT_EQ(merge({newer, older, newest}).accumulated.size(), 1);
  EXPECT_EQ(merge({older, newest}).accumulated.size(), 1);
  EXPECT_EQ(merge({older, newest}).counts.total_documents(), 2) << "the rest is there";
}

}  // namespace
}  // namespace ropewalk
