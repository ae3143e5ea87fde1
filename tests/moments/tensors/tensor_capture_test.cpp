#include "ropewalk/moments/tensors/tensor_capture.h"

#include <c10/core/GradMode.h>
#include <gtest/gtest.h>

#include "ropewalk/base/error.h"
#include "ropewalk/kernels/products/exact_float32.h"
#include "ropewalk/moments/files/moments_file.h"
#include "tests/temporary_folder.h"

namespace ropewalk {
namespace {

constexpr int64_t kDim = 4;
const TensorShape kShape{.layers = 2, .q_heads = 4, .kv_heads = 2, .head_dim = kDim, .blocks = 3};

at::Tensor vectors(int64_t heads, int64_t tokens, uint64_t seed) {
  return at::randn({heads, tokens, kDim}, at::make_generator<at::CPUGeneratorImpl>(seed)) + 3;
}

// Compares query head 1: its mean, and its covariance as a full matrix of sums.
void expect_moments(TensorCapture& capture, const at::Tensor& x, const at::Tensor& t) {
  const CaptureMoments moments = capture.layer(1);
  const StreamSet queries = moments.streams(StreamKind::query);
  const int64_t row = queries.find({1, 1});
  ASSERT_GE(row, 0);
  const at::Tensor centred = x - x.mean(0);
  const auto close = [](const at::Tensor& found, const at::Tensor& expected) {
    return at::allclose(found, expected, 1e-5, 1e-4);
  };
  EXPECT_EQ(moments.counts.total_tokens(), x.size(0));
  EXPECT_TRUE(close(queries.total.mean[row], x.mean(0)));
  EXPECT_TRUE(close(queries.total.position[row], at::mv(centred.t(), t - t.mean())));
  EXPECT_TRUE(close(unpack_triangle(queries.total.products[row], kDim), centred.t().mm(centred)));
}

TEST(TensorCapture, HoldsTheMomentsOfAllDocuments) {
  TensorCapture capture(kShape);
  std::vector<at::Tensor> all;
  std::vector<at::Tensor> positions;
  for (int64_t i = 0; i < 5; ++i) {
    const at::Tensor q = vectors(4, 20 + i, static_cast<uint64_t>(i));
    const at::Tensor t = at::arange(20 + i, at::kLong) * 3 + i;
    capture.add(1, i, q, vectors(2, 20 + i, 99), t);
    all.push_back(q[1].to(at::kDouble));
    positions.push_back(t.to(at::kDouble));
  }
  expect_moments(capture, at::cat(all), at::cat(positions));
  const CaptureMoments moments = capture.layer(1);
  EXPECT_EQ(moments.counts.documents, (std::vector<int64_t>{2, 2, 1})) << "document i modulo 3";
  EXPECT_EQ(moments.documents.size(), 5);
  EXPECT_EQ(capture.layer(0).counts.total_documents(), 0);
}

// As in a model that is being trained: gradients are enabled, and float32 may be rounded to
// bfloat16.
TEST(TensorCapture, TheCallersSettingsNeitherMatterNorChange) {
  at::globalContext().setFloat32MatmulPrecision("medium");
  TensorCapture capture(kShape);
  const at::Tensor q = vectors(4, 300, 7).requires_grad_();
  capture.add(1, 0, q, vectors(2, 300, 8));
  EXPECT_EQ(at::globalContext().float32MatmulPrecision(), at::Float32MatmulPrecision::MEDIUM);
  at::globalContext().setFloat32MatmulPrecision("highest");
  EXPECT_TRUE(c10::GradMode::is_enabled());
  EXPECT_TRUE(q.requires_grad());
  expect_moments(capture, q.detach()[1].to(at::kDouble), at::arange(300, at::kDouble));
  EXPECT_FALSE(capture.layer(1).streams(StreamKind::query).total.mean.requires_grad());
}

TEST(TensorCapture, AllLayersMakeOneFile) {
  TensorCapture capture(kShape);
  for (int64_t layer = 0; layer < 2; ++layer) {
    for (int64_t i = 0; i < 4; ++i) {
      const auto seed = static_cast<uint64_t>(10 * layer + i);
      capture.add(layer, i, vectors(4, 9 + i, seed), vectors(2, 9 + i, seed + 100));
    }
  }
  const TemporaryFolder folder;
  const auto path = folder.path() / kMomentsName;
  write_moments(path, capture.moments());
  const CaptureMoments read = read_moments(path);
  EXPECT_EQ(read.documents.size(), 4);
  EXPECT_FALSE(read.info.config.rope) << "none is not the same as not known";
  EXPECT_EQ(read.info.tokens, 9 + 10 + 11 + 12);
  for (int64_t layer = 0; layer < 2; ++layer) {
    const StreamSet one = capture.layer(layer).streams(StreamKind::key);
    const StreamSet all = read.streams(StreamKind::key);
    const int64_t row = all.find({layer, 1});
    ASSERT_EQ(row, 2 * layer + 1);
    EXPECT_TRUE(all.total.products[row].equal(one.total.products[1]));
    EXPECT_TRUE(all.blocks.mean[row].equal(one.blocks.mean[1]));
  }
  capture.add(1, 4, vectors(4, 9, 1), vectors(2, 9, 2));
  EXPECT_THROW(capture.moments(), UsageError) << "a document that one layer lacks";
}

TEST(TensorCapture, LayersWithoutDocumentsAreLeftOut) {
  TensorCapture capture(kShape);
  EXPECT_TRUE(capture.moments().documents.empty());
  capture.add(1, 0, vectors(4, 9, 1), vectors(2, 9, 2));
  const CaptureMoments moments = capture.moments();
  EXPECT_EQ(moments.documents.size(), 1);
  for (const StreamId& id : moments.queries) EXPECT_EQ(id.layer, 1);
  EXPECT_EQ(moments.queries.size(), 4);
  EXPECT_EQ(moments.info.config.layers, 2);
}

TEST(TensorCapture, PositionsThatComeAgain) {
  TensorCapture capture(kShape);
  std::vector<at::Tensor> x, t;
  for (int64_t i = 0; i < 150; ++i) {  // more than are remembered, each of them twice in a row
    x.push_back(vectors(4, 5, static_cast<uint64_t>(i)));
    t.push_back(at::arange(5) * (1 + i / 2 % 71));
    capture.add(1, i, x.back(), vectors(2, 5, 7), t.back());
  }
  expect_moments(capture, at::cat(x, 1)[1].to(at::kDouble), at::cat(t).to(at::kDouble));
}

// With the strides of projections, where a token's heads are adjacent: [rows, heads, T, d].
at::Tensor batch(int64_t rows, int64_t heads, int64_t tokens, uint64_t seed) {
  return vectors(rows * tokens, heads, seed).view({rows, tokens, heads, kDim}).transpose(1, 2);
}

TEST(TensorCapture, TakesRowsOfABlockAsOne) {
  const at::Tensor q = batch(4, 4, 50, 1), k = batch(4, 2, 50, 2);
  TensorCapture capture(kShape), expected(kShape);
  const std::vector<int64_t> documents{1, 4, 7, 3};
  const auto some = std::span(documents).first(3);
  const auto first = [](const at::Tensor& all) { return all.narrow(0, 0, 3); };
  EXPECT_EQ(capture.together(documents, q, k), 3) << "the last one is of another block";
  EXPECT_EQ(capture.together(some, q.contiguous(), k), 1) << "heads are apart";
  EXPECT_EQ(capture.together(some, q, k[0].expand({4, 2, 50, kDim})), 1) << "the same row again";
  for (const auto& [tokens, rows] : {std::pair<int64_t, int64_t>{1024, 3}, {2048, 2}, {2049, 1}}) {
    const at::Tensor longer = at::empty_strided({3, 4, tokens, kDim}, {tokens * 16, kDim, 16, 1});
    EXPECT_EQ(capture.together(some, longer, longer), rows) << tokens << " tokens";
  }
  const at::Tensor positions = at::stack({at::arange(50), at::arange(50) + 7, at::arange(50) * 2});
  for (const int64_t layer : {0, 1}) {
    const auto t = layer == 1 ? std::optional(positions) : std::nullopt;
    capture.add(layer, some, first(q), first(k), t);
    for (int64_t row = 0; row < 3; ++row) {
      expected.add(layer, documents[static_cast<size_t>(row)], q[row], k[row],
                   t ? std::optional((*t)[row]) : std::nullopt);
    }
    const CaptureMoments found = capture.layer(layer), rows = expected.layer(layer);
    EXPECT_EQ(found.documents, rows.documents);
    EXPECT_EQ(found.counts.documents, rows.counts.documents);
    EXPECT_EQ(found.counts.tokens, rows.counts.tokens);
    EXPECT_NEAR(found.counts.position_mean[1], rows.counts.position_mean[1], 1e-12);
    EXPECT_NEAR(found.counts.position_scatter[1], rows.counts.position_scatter[1], 1e-6);
    for (const StreamKind kind : {StreamKind::query, StreamKind::key}) {
      const Moments one = found.streams(kind).total, other = rows.streams(kind).total;
      EXPECT_TRUE(at::allclose(one.mean, other.mean, 1e-6, 1e-6));
      EXPECT_TRUE(at::allclose(one.position, other.position, 1e-6, 1e-2)) << "of thousands";
      EXPECT_TRUE(at::allclose(one.products, other.products, 1e-6, 1e-4));
    }
  }
  EXPECT_THROW(capture.add(1, some, first(q), first(k)), UsageError) << "they were added before";
}

TEST(TensorCapture, TakesDoublesAndViews) {
  TensorCapture capture(kShape);
  const at::Tensor q = vectors(4, 30, 1).to(at::kDouble).transpose(0, 1).contiguous();
  capture.add(1, 0, q.transpose(0, 1), vectors(2, 30, 2).to(at::kDouble));
  expect_moments(capture, q.select(1, 1), at::arange(30, at::kDouble));
}

TEST(TensorCapture, RefusesWhatDoesNotFit) {
  EXPECT_THROW(TensorCapture({.q_heads = 3, .kv_heads = 2, .head_dim = kDim}), UsageError);
  EXPECT_THROW(TensorCapture({.q_heads = 2, .kv_heads = 2}), UsageError);
  constexpr int64_t kMany = int64_t{1} << 62;
  EXPECT_THROW(TensorCapture({.layers = kMany, .q_heads = 2, .kv_heads = 2, .head_dim = 4}),
               UsageError);
  EXPECT_THROW(TensorCapture({.q_heads = kMany, .kv_heads = kMany, .head_dim = 4}), UsageError);
  EXPECT_THROW(TensorCapture({.q_heads = 2, .kv_heads = 2, .head_dim = kMany}), UsageError);
  EXPECT_THROW(TensorCapture({.q_heads = 2, .kv_heads = 2, .head_dim = 4, .blocks = kMany}),
               UsageError);
  TensorCapture capture(kShape);
  const at::Tensor q = vectors(4, 9, 1);
  const at::Tensor k = vectors(2, 9, 2);
  EXPECT_THROW(capture.add(2, 0, q, k), UsageError) << "no such layer";
  EXPECT_THROW(capture.add(0, -1, q, k), UsageError) << "no such document";
  EXPECT_THROW(capture.add(0, 0, q[0], k), UsageError) << "one head";
  EXPECT_THROW(capture.add(0, 0, q, k.narrow(1, 0, 8)), UsageError) << "another length";
  EXPECT_THROW(capture.add(0, 0, q.to(at::kLong), k), UsageError) << "integers";
  EXPECT_THROW(capture.add(0, 0, q, k, at::arange(8)), UsageError) << "positions of another length";
  EXPECT_THROW(capture.add(0, 0, q.narrow(1, 0, 0), k.narrow(1, 0, 0)), UsageError) << "nothing";
  capture.add(0, 0, q, k);
  EXPECT_THROW(capture.add(0, 0, q, k), UsageError) << "the same document again";
  q[0][3][1] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(capture.add(0, 1, q, k), InputError);
}

// What the program knows before a backend reads the first document, sent as JSON.
TEST(TensorCapture, KeepsWhatWasPlanned) {
  TensorShape shape = kShape;
  const TensorShape::Planned planned{.context = 40,
                                     .documents = 5,
                                     .heads = {{1, 3}, {1, 0}},
                                     .windows = {{1, 24}},
                                     .clusters = {{4, 0}}};
  KeepOptions keep = keep_nothing();
  keep.lags = true;
  read_planned(planned_json(planned, keep), shape);
  EXPECT_EQ(shape.keep, keep);
  EXPECT_EQ(shape.planned->heads, planned.heads);
  EXPECT_EQ(make_config(shape).layers[1].window, 24);
  TensorCapture capture(shape);
  for (int64_t i = 0; i < 5; ++i) capture.add(1, i, vectors(4, 40, 5), vectors(2, 40, 6));
  const CaptureMoments moments = capture.layer(1);
  EXPECT_EQ(moments.queries, (std::vector<StreamId>{{1, 0}, {1, 3}}));
  EXPECT_EQ(moments.keys, (std::vector<StreamId>{{1, 0}, {1, 1}}));
  EXPECT_EQ(moments.counts.documents, (std::vector<int64_t>{3, 1, 1})) << "4 is in 0's cluster";
  EXPECT_EQ(moments.info.accumulators.count("lags"), 1U) << "as the context is known";
  EXPECT_EQ(moments.info.accumulators.count("pre_rope"), 0U);
}

}  // namespace
}  // namespace ropewalk
