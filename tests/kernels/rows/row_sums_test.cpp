// Sums over rows of attention: on the CPU against the rows' own numbers, on a GPU against the CPU.
#include "ropewalk/kernels/rows/row_sums.h"

#include <gtest/gtest.h>

#include "ropewalk/kernels/rows/longest.h"
#include "ropewalk/kernels/rows/row_numbers.h"
#include "tests/kernels/gpu/gpu_test.h"
#include "tests/kernels/rows/made_rows.h"

namespace ropewalk {
namespace {

using Row = RowNumber;

RowSums empty_sums(int64_t heads, int64_t context, const at::Device& device = at::kCPU) {
  const auto numbers = at::TensorOptions(at::kDouble).device(device);
  const int64_t octaves = row_octaves(context);
  return {at::zeros({heads, octaves, Row::count}, numbers),
          at::zeros({heads, octaves, distance_parts(context)}, numbers),
          at::zeros({heads, 1}, numbers), at::zeros({heads, kEdges, EdgeNumber::count}, numbers),
          at::zeros({heads, kEdges, 2, kEdgeTokens}, numbers)};
}

TEST(RowSums, AddUpByOctave) {
  const MadeRows of{.name = "", .tokens = 150};
  const QueryRows rows = make_rows(of);
  const int64_t heads = rows.heads();
  const RowSums to = empty_sums(heads, of.tokens);
  add_row_sums(rows, 7, to);
  add_row_sums(rows, 3, to);
  const RowNumbers found = row_numbers(rows, distance_parts(of.tokens));
  const at::Tensor expected = at::zeros_like(to.sums);
  for (size_t row = 0; row < rows.t.size(); ++row) {
    expected.select(1, row_octave(rows.t[row]))
        .add_(found.numbers.select(1, static_cast<int64_t>(row)), 2);
  }
  EXPECT_TRUE(at::allclose(to.sums, expected));
  EXPECT_TRUE(at::allclose(to.attended.sum(1), 2 * found.distances.sum(1)));
  EXPECT_TRUE(to.largest.equal(found.numbers.select(2, Row::largest).amax(1, true)));
  for (int64_t head = 0; head < heads; ++head) {
    // Of equal links those of the earlier document.
    EXPECT_EQ(to.edges[head][0][EdgeNumber::document].item<double>(), 3);
    EXPECT_EQ(to.edges[head][1][EdgeNumber::document].item<double>(), 7);
    EXPECT_EQ(to.edges[head].select(1, EdgeNumber::p).gt(0).sum().item<int64_t>(), 4);
  }
}

class RowSumsOnGpu : public GpuTest {};

QueryRows on_gpu(const QueryRows& rows) {
  QueryRows there = rows;
  for (at::Tensor* x :
       {&there.q, &there.k, &there.cos, &there.sin, &there.scores.slopes, &there.scores.sinks}) {
    if (x->defined()) *x = x->cuda();
  }
  return there;
}

// Longer ones too, which loops in float64 would take long for.
std::vector<MadeRows> made_rows() {
  std::vector<MadeRows> all = kinds_of_layers();
  all.insert(
      all.end(),
      {{.name = "long", .tokens = 5000, .every = false, .d = 64},
       {.name = "wide", .tokens = 700, .kv = {0, 0, 0, 0, 0, 1, 1, 1, 1, 1}, .pairs = 5, .d = 136},
       {.name = "long window", .tokens = 3000, .window = 600, .d = 16}});
  return all;
}

TEST_F(RowSumsOnGpu, AreThoseOfTheCpu) {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    for (const MadeRows& of : made_rows()) {
      QueryRows rows = make_rows(of);
      rows.q = rows.q.to(dtype);
      rows.k = rows.k.to(dtype);
      const int64_t heads = rows.heads();
      const RowSums here = empty_sums(heads, of.tokens);
      const RowSums there = empty_sums(heads, of.tokens, at::kCUDA);
      for (const int64_t document : {5, 2}) {
        add_row_sums(rows, document, here);
        add_row_sums(on_gpu(rows), document, there);
        rows.k = rows.k.flip(1);
      }
      const auto name = std::string(of.name) + (dtype == at::kFloat ? ", float32" : ", bfloat16");
      for (int64_t column = 0; column < Row::count; ++column) {
        const at::Tensor expected = here.sums.select(2, column),
                         found = there.sums.select(2, column).cpu();
        EXPECT_TRUE(at::allclose(found, expected, 2e-5, 2e-5))
            << name << ", column " << column << ": off by "
            << (found - expected).abs().max().item<double>();
      }
      EXPECT_TRUE(at::allclose(there.attended.cpu(), here.attended, 2e-5, 2e-5)) << name;
      EXPECT_TRUE(at::allclose(there.largest.cpu(), here.largest, 1e-5, 1e-5)) << name;
      // Neighbours in the list may differ by rounding alone.
      EXPECT_TRUE(at::allclose(there.edges.select(2, EdgeNumber::p).cpu(),
                               here.edges.select(2, EdgeNumber::p), 1e-5, 1e-6))
          << name;
      const at::Tensor same = there.edges.narrow(2, 0, 3).cpu().eq(here.edges.narrow(2, 0, 3));
      EXPECT_GE(same.to(at::kDouble).mean().item<double>(), 0.9) << name;
      EXPECT_GE(there.edge_tokens.cpu().eq(here.edge_tokens).to(at::kDouble).mean().item<double>(),
                0.9)
          << name;
    }
  }
}

TEST_F(RowSumsOnGpu, LongestVectorsAreThoseOfTheCpu) {
  const std::vector<int64_t> q_heads{0, 2, 3}, kv_heads{0, 1};
  const at::Tensor none;
  const at::Tensor q_there = at::tensor(q_heads, at::kInt).cuda(),
                   kv_there = at::tensor(kv_heads, at::kInt).cuda();
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    const at::Tensor q = random_tensor({4, 333, 37}, 1).to(dtype),
                     k = random_tensor({2, 333, 37}, 2).to(dtype);
    const at::Tensor here = at::zeros({5, 1}, at::kDouble), there = here.cuda();
    for (const double factor : {1.0, 0.5}) {
      const at::Tensor q_now = q * factor, k_now = k * factor;
      add_longest({q_now, q_heads, none, here.narrow(0, 0, 3)},
                  {k_now, kv_heads, none, here.narrow(0, 3, 2)});
      const at::Tensor q_gpu = q_now.cuda(), k_gpu = k_now.cuda();
      add_longest({q_gpu, q_heads, q_there, there.narrow(0, 0, 3)},
                  {k_gpu, kv_heads, kv_there, there.narrow(0, 3, 2)});
    }
    EXPECT_TRUE(at::allclose(there.cpu(), here, 1e-6, 0));
    EXPECT_GT(here.min().item<double>(), 1);
  }
}

}  // namespace
}  // namespace ropewalk
