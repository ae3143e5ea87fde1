#include "ropewalk/kernels/moments/moments.h"

#include <gtest/gtest.h>

#include "tests/kernels/tensors.h"

namespace ropewalk {
namespace {

// The reference: two passes in float64.
Moments two_pass(const at::Tensor& x, const at::Tensor& positions) {
  const at::Tensor wide = x.to(at::kDouble);
  const at::Tensor t = positions.to(at::kDouble);
  const at::Tensor centred = wide - wide.mean(1, true);
  return {wide.mean(1), (centred * (t - t.mean()).view({1, -1, 1})).sum(1),
          at::bmm(centred.transpose(1, 2), centred)};
}

void expect_close(const Moments& found, const Moments& expected, double tolerance) {
  const auto error = [](const at::Tensor& a, const at::Tensor& b) {
    return ((a - b).norm() / b.norm().clamp_min(1e-300)).item<double>();
  };
  EXPECT_LT(error(found.mean, expected.mean), tolerance);
  EXPECT_LT(error(found.position, expected.position), tolerance);
  EXPECT_LT(error(unpack_triangle(found.products, found.mean.size(1)), expected.products),
            tolerance);
}

// Vectors whose mean exceeds their spread, with a drift, and with an attention sink first.
at::Tensor vectors(int64_t tokens, uint64_t seed) {
  const at::Tensor x = random_tensor({3, tokens, 8}, seed) + 50 +
                       at::arange(tokens, at::kFloat).view({1, tokens, 1}) / 300;
  x.select(1, 0) += 300;
  return x;
}

TEST(DocumentMoments, AgreeWithFloat64) {
  for (const int64_t tokens : {2, 63, 511, 512, 513, 1024, 3000}) {
    const at::Tensor x = vectors(tokens, 1);
    expect_close(document_moments(x, Positions::counted(tokens)), two_pass(x, at::arange(tokens)),
                 3e-6);
  }
}

TEST(DocumentMoments, TakeAnyDimensionsLayoutAndNumbers) {
  for (const int64_t d : {1, 5, 16, 17, 23, 64, 80, 128}) {
    const at::Tensor tokens_first = random_tensor({700, 3, d}, 7) + 5;
    const at::Tensor reversed = random_tensor({3, d, 700}, 8) + 5;
    for (const at::Tensor& x : {tokens_first.transpose(0, 1), reversed.transpose(1, 2),
                                tokens_first.transpose(0, 1).to(at::kBFloat16)}) {
      expect_close(document_moments(x, Positions::counted(700)), two_pass(x, at::arange(700)),
                   3e-6);
    }
  }
}

TEST(DocumentMoments, TakePositionsAsTheyAre) {
  const at::Tensor x = vectors(1300, 2);
  // Two documents in one tensor; the second has gaps and is out of order.
  const at::Tensor packed = at::cat({at::arange(700), at::arange(600) * 7});
  expect_close(document_moments(x, Positions(packed)), two_pass(x, packed), 3e-6);
  const at::Tensor turned = at::arange(1300).flip(0);
  const Moments forth = document_moments(x, Positions::counted(1300));
  const Moments back = document_moments(x, Positions(turned));
  EXPECT_TRUE(at::allclose(forth.position, -back.position));
  EXPECT_TRUE(at::equal(forth.products, back.products));
}

TEST(JoinMoments, OfPartsAreThoseOfTheWhole) {
  const at::Tensor x = vectors(2000, 3);
  const at::Tensor positions = at::cat({at::arange(900), at::arange(1100)});
  const Moments expected = document_moments(x, Positions(positions));
  const auto part = [&](int64_t from, int64_t to) {
    return document_moments(x.slice(1, from, to), Positions(positions.slice(0, from, to)));
  };
  const Moments whole = part(0, 900);
  join_moments(whole, {900, 449.5}, part(900, 2000), {1100, 549.5});
  for (const auto& [a, b] : {std::pair{whole.mean, expected.mean},
                             {whole.position, expected.position},
                             {whole.products, expected.products}}) {
    EXPECT_LT(((a - b).norm() / b.norm()).item<double>(), 1e-6);
  }
}

TEST(JoinMoments, WithNothingAreTheSameBits) {
  const Moments some = document_moments(vectors(600, 4), Positions::counted(600));
  const Moments empty{at::zeros_like(some.mean), at::zeros_like(some.position),
                      at::zeros_like(some.products)};
  const Moments copy{some.mean.clone(), some.position.clone(), some.products.clone()};
  join_moments(copy, {600, 299.5}, empty, {});
  EXPECT_TRUE(at::equal(copy.products, some.products));
  join_moments(empty, {}, some, {600, 299.5});
  EXPECT_TRUE(at::equal(empty.mean, some.mean));
  EXPECT_TRUE(at::equal(empty.position, some.position));
  EXPECT_TRUE(at::equal(empty.products, some.products));
}

TEST(Positions, KnowTheirMeanAndScatter) {
  const Positions counted = Positions::counted(4096);
  EXPECT_EQ(counted.mean(), 2047.5);
  EXPECT_EQ(counted.scatter(), 4096.0 * (4096.0 * 4096.0 - 1) / 12);
  const Positions some(at::tensor({5, 1, 9}, at::kInt));
  EXPECT_EQ(some.mean(), 5);
  EXPECT_EQ(some.scatter(), 32);
  const Positions::Chunks& chunks = some.chunks(2, at::kCPU);
  EXPECT_TRUE(at::equal(chunks.middle, at::tensor({3.0, 9.0}, at::kDouble)));
  EXPECT_TRUE(at::equal(chunks.offset, at::tensor({2.0, -2.0, 0.0}, at::kFloat)));
}

}  // namespace
}  // namespace ropewalk
