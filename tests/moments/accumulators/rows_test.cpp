// Rows of attention: which are drawn, and how what they add up to is joined.
#include "ropewalk/moments/accumulators/rows.h"

#include <gtest/gtest.h>

#include <set>

#include "ropewalk/base/error.h"
#include "ropewalk/kernels/rows/edges.h"
#include "ropewalk/kernels/rows/row_numbers.h"
#include "ropewalk/moments/files/kept_fields.h"
#include "tests/moments/collectors/small_run.h"
#include "tests/moments/files/small_config.h"

namespace ropewalk {
namespace {

constexpr int64_t kDim = 6, kBlocks = 3, kContext = 100;
constexpr KeepCount kAll{KeepCount::kAll};
const SmallRun kRun{{100, 3, 50, 100, 31, 99, 5}, kDim, 0, kContext};
constexpr int64_t kDocumentsWithEdges = 5;
const std::vector<QueryHead> kHeads{{0, 1}, {0, 3}, {1, 2}};  // KV heads 0 and 1, and 1
const ModelConfig kConfig = small_config(2, kDim);
const CollectorOptions kOptions{.blocks = kBlocks,
                                .keep = {.pre_rope = false, .rows = {8}},
                                .context = kContext,
                                .documents = 7};

TEST(RowsOfAttention, OneIsDrawnInEachPart) {
  EXPECT_TRUE(draw_rows(1, 4, kAll).empty());
  EXPECT_EQ(draw_rows(1, 5, kAll), (std::vector<int64_t>{4}));
  EXPECT_EQ(draw_rows(1, 8, kAll), (std::vector<int64_t>{4, 5, 6, 7}));
  EXPECT_EQ(draw_rows(1, 8, {32}), draw_rows(1, 8, kAll)) << "there are no more";
  std::set<int64_t> drawn;
  for (uint64_t digest = 0; digest < 300; ++digest) {
    const std::vector<int64_t> rows = draw_rows(digest, 105, {10});
    ASSERT_EQ(rows.size(), 10);
    for (size_t i = 0; i < rows.size(); ++i) {
      EXPECT_GE(rows[i], 4 + 101 * static_cast<int64_t>(i) / 10);
      EXPECT_LT(rows[i], 4 + 101 * static_cast<int64_t>(i + 1) / 10);
    }
    drawn.insert(rows.begin(), rows.end());
  }
  EXPECT_EQ(drawn.size(), 101) << "every place is drawn";
  EXPECT_EQ(draw_rows(7, 4096, {32}), draw_rows(7, 4096, {32}));
  EXPECT_NE(draw_rows(7, 4096, {32}), draw_rows(8, 4096, {32}));
}

// tests/golden/rows_reference.py prints the same.
TEST(RowsOfAttention, AreSeededByDocumentAndPart) {
  EXPECT_EQ(draw_rows(0x0123456789abcdef, 4096, {4}),
            (std::vector<int64_t>{152, 1097, 2727, 3342}));
}

TEST(RowsOfAttention, Octaves) {
  EXPECT_EQ(row_octaves(4), 0);
  EXPECT_EQ(row_octaves(5), 1);
  EXPECT_EQ(row_octaves(8), 1);
  EXPECT_EQ(row_octaves(9), 2);
  EXPECT_EQ(row_octaves(4096), 10);
  EXPECT_EQ(row_octave(4), 0);
  EXPECT_EQ(row_octave(7), 0);
  EXPECT_EQ(row_octave(8), 1);
  EXPECT_EQ(row_octave_begin(9), 2048);
}

const at::Tensor& field(const CaptureMoments& moments, StreamKind kind, const char* name) {
  return KeptFields::find(moments, rows(), kind)->total(name);
}

CaptureMoments read(const CollectorOptions& options = kOptions) {
  MomentsCollector collector(kConfig, kHeads, options);
  kRun.read(collector);
  const TemporaryFolder folder;
  return kRun.written(folder, collector);
}

TEST(RowsOfAttention, AreKeptByOctaveAndBlock) {
  const CaptureMoments moments = read();
  EXPECT_EQ(names_of(moments.info.accumulators), (std::vector<std::string>{"lags", "rows"}));
  EXPECT_EQ(moments.info.accumulators.at("rows").count.number, 8);
  const at::Tensor sums = field(moments, StreamKind::query, "sums").view({3, -1, RowNumber::count});
  ASSERT_EQ(sums.size(1), row_octaves(kContext));
  std::vector<double> rows_of(static_cast<size_t>(sums.size(1)), 0);
  for (const Document& document : kRun.documents()) {
    for (const int64_t t :
         draw_rows(document.prefix_digest, static_cast<int64_t>(document.tokens.size()), {8})) {
      ++rows_of[static_cast<size_t>(row_octave(t))];
    }
  }
  EXPECT_TRUE(sums[0].select(1, RowNumber::rows).equal(at::tensor(rows_of, at::kDouble)));
  const at::Tensor attended =
      field(moments, StreamKind::query, "attended").view({3, -1, distance_parts(kContext)}).sum(2);
  EXPECT_TRUE(at::allclose(attended, sums.select(2, RowNumber::late)));
  const at::Tensor all = sums.sum(1);
  EXPECT_TRUE(at::allclose(all.select(1, RowNumber::late) + all.select(1, RowNumber::first4),
                           all.select(1, 0)));
  for (int64_t i = 0; i < 3; ++i) {
    const QueryHead head = kHeads[static_cast<size_t>(i)];
    double longest_q = 0, longest_k = 0;
    for (int64_t document = 0; document < kRun.count(); ++document) {
      const auto longest = [&](int64_t heads, int64_t one) {
        return kRun.vectors(document, head.layer, heads)[one].norm(2, {1}).max().item<double>();
      };
      longest_q = std::max(longest_q, longest(4, head.q_head));
      longest_k = std::max(longest_k, longest(2, head.q_head / 2));
    }
    EXPECT_NEAR(field(moments, StreamKind::query, "largest")[i][1].item<double>(), longest_q, 1e-5);
    EXPECT_NEAR(field(moments, StreamKind::key, "longest")[i][0].item<double>(), longest_k, 1e-5);
    EXPECT_LE(field(moments, StreamKind::query, "largest")[i][0].item<double>(),
              longest_q * longest_k);
  }
}

TEST(RowsOfAttention, EdgesAreTheStrongestOfAll) {
  CollectorOptions options = kOptions;
  options.keep.rows = kAll;
  const CaptureMoments moments = read(options);
  const at::Tensor edges =
      field(moments, StreamKind::query, "edges").view({3, kEdges, EdgeNumber::count});
  const at::Tensor tokens =
      field(moments, StreamKind::query, "edge_tokens").view({3, kEdges, 2, kEdgeTokens});
  EXPECT_EQ(tokens.scalar_type(), at::kHalf) << "small whole numbers";
  std::map<double, int64_t> of_document;
  for (int64_t i = 0; i < kEdges; ++i) {
    const auto number = [&](int64_t n) { return edges[0][i][n].item<double>(); };
    const double p = number(EdgeNumber::p), t = number(EdgeNumber::t),
                 key = number(EdgeNumber::key);
    if (i < 2 * kDocumentsWithEdges) {
      EXPECT_GT(p, 0) << "two of each document";
      EXPECT_LT(key, t);
      EXPECT_GE(key, 4);
      ++of_document[number(EdgeNumber::document)];
      if (i > 0) {
        EXPECT_LE(p, edges[0][i - 1][EdgeNumber::p].item<double>());
      }
      // All tokens of a document have its index for an id.
      const auto around = tokens[0][i][0].to(at::kDouble);
      EXPECT_EQ(around[kEdgeTokensAround].item<double>(), number(EdgeNumber::document) + 1);
      EXPECT_EQ(around[0].item<double>(), t < kEdgeTokensAround ? 0 : number(0) + 1);
    } else {
      EXPECT_EQ(p, 0);
    }
  }
  for (const auto& [document, count] : of_document) EXPECT_EQ(count, 2) << document;
}

// Of equal ones those of the first documents, and there the first positions, whatever is joined to
// what.
TEST(RowsOfAttention, EqualEdgesComeInTheOrderOfTheirPlaces) {
  const auto listed = [](const std::vector<std::array<double, 4>>& edges) {
    const at::Tensor numbers = at::zeros({1, kEdges, EdgeNumber::count}, at::kDouble);
    for (size_t i = 0; i < edges.size(); ++i) {
      for (size_t n = 0; n < 4; ++n) {
        numbers[0][static_cast<int64_t>(i)][static_cast<int64_t>(n)] = edges[i][n];
      }
    }
    return Edges{numbers, numbers.clone()};
  };
  const Edges a = listed({{3, 9, 5, .5}, {1, 9, 8, .25}, {2, 7, 6, .25}}),
              b = listed({{1, 9, 7, .25}, {1, 8, 7, .25}, {0, 5, 4, .125}});
  const std::vector<double> expected{3, 1, 1, 1, 2, 0}, keys{5, 7, 7, 8, 6, 4};
  for (const Edges& both : {strongest_edges(a, b), strongest_edges(b, a)}) {
    EXPECT_TRUE(
        both.numbers[0].narrow(0, 0, 6).select(1, 0).equal(at::tensor(expected, at::kDouble)));
    EXPECT_TRUE(both.numbers[0].narrow(0, 0, 6).select(1, 2).equal(at::tensor(keys, at::kDouble)));
    EXPECT_TRUE(both.tokens.equal(both.numbers));
    EXPECT_EQ(both.numbers.size(1), kEdges);
  }
}

TEST(RowsOfAttention, LargestLogitMayBeBelowZero) {
  SmallRun run = kRun;
  run.scores.scale = 1e-3;
  run.scores.slopes = at::full({4}, 1.0F);
  run.scores.window = 1;  // a query sees itself alone
  run.scores.sinks = at::full({4}, 2.0F);
  run.scores.slopes = at::zeros({4});
  MomentsCollector collector(kConfig, kHeads, kOptions);
  run.mean = 3;
  run.scores.scale = -1;  // all products are above 0
  run.read(collector);
  const TemporaryFolder folder;
  const CaptureMoments moments = run.written(folder, collector);
  EXPECT_LT(field(moments, StreamKind::query, "largest")[0][0].item<double>(), 0);
}

TEST(RowsOfAttention, WantScores) {
  MomentsCollector collector(kConfig, kHeads, kOptions);
  const Document document = kRun.documents().front();
  EXPECT_THROW(collector.on_vectors(taken(0, document, Positions::counted(100),
                                          kRun.vectors(0, 0, 4), kRun.vectors(0, 0, 2))),
               UsageError);
}

TEST(RowsOfAttention, AreKeptWhereTheyAreAskedFor) {
  const auto has = [](const CaptureShape& shape) { return !rows().fields(shape).empty(); };
  const KeepOptions some{.rows = {8}};
  EXPECT_TRUE(has({kDim, kPostRope, some, kContext}));
  EXPECT_FALSE(has({kDim, kPostRope, {.rows = {}}, kContext}));
  EXPECT_FALSE(has({kDim, kPostRope, some, 0})) << "how far documents go is not known";
  EXPECT_FALSE(has({kDim, kPostRope, some, 4}));
  EXPECT_FALSE(has({kDim, kPreRope, some, kContext}));
}

// Sums, largest numbers and edges of parts, as if they had been read at once.
class RowsInParts : public testing::Test {
 protected:
  void expect_same(const CaptureMoments& found) const {
    for (const StreamKind kind : {StreamKind::query, StreamKind::key}) {
      for (const KeptField& one : rows().fields(shape_)) {
        if (one.kind != kind) continue;
        const at::Tensor mine = field(found, kind, one.name.c_str()).to(at::kDouble),
                         whole = field(expected_, kind, one.name.c_str()).to(at::kDouble);
        EXPECT_TRUE(at::allclose(mine, whole, 1e-12, 1e-14)) << one.name;
        if (!one.blocks || one.width <= 2) {
          EXPECT_TRUE(mine.equal(whole)) << one.name;
        }
      }
    }
  }

  const CaptureShape shape_ = kOptions.shape(kDim);
  const CaptureMoments expected_ = read();
  const SmallParts parts_{kRun, kConfig, kHeads, kOptions,
                          [this](const CaptureMoments& found) { expect_same(found); }};
  const TemporaryFolder folder_;
};

TEST_F(RowsInParts, Merged) { parts_.expect_merged(folder_, kOptions); }
TEST_F(RowsInParts, Resumed) { parts_.expect_resumed(folder_); }
TEST_F(RowsInParts, Joined) { parts_.expect_joined(folder_); }

}  // namespace
}  // namespace ropewalk
