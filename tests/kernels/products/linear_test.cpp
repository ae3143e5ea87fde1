#include "ropewalk/kernels/products/linear.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ropewalk/kernels/products/elementwise.h"
#include "ropewalk/kernels/products/product_cpu.h"
#include "tests/kernels/tensors.h"

namespace ropewalk {
namespace {

at::Tensor none() { return {}; }

struct Shape {
  int64_t rows = 5;
  int64_t depth = 33;
  int64_t columns = 40;
};

// One row and many; depths of a part of a group, of one slice and of several; parts of a panel.
const Shape kShapes[] = {{1, 1, 1},     {1, 576, 96},    {5, 33, 40},
                         {97, 16, 64},  {13, 1000, 31},  {25, 1537, 33},
                         {200, 64, 32}, {4097, 40, 130}, {30, 12000, 100}};

struct Case {
  explicit Case(const Shape& shape)
      : x(random_tensor({shape.rows, shape.depth}, 1)),
        weight(random_tensor({shape.columns, shape.depth}, 2)),
        bias(random_tensor({shape.columns}, 3)) {}
  at::Tensor x;
  at::Tensor weight;
  at::Tensor bias;

  at::Tensor packed() const { return packed_weights(weight.clone()); }
  // x weight^T + bias in float64
  at::Tensor expected(bool with_bias) const {
    const at::Tensor product = x.to(at::kDouble).mm(weight.to(at::kDouble).t());
    return with_bias ? product + bias : product;
  }
};

// Rounding errors add up over the depth, so the tolerance is relative to the sum of the terms.
void expect_close(const at::Tensor& found, const at::Tensor& expected, int64_t depth,
                  const std::string& what) {
  const double size = std::sqrt(static_cast<double>(depth));
  EXPECT_LT((found.to(at::kDouble) - expected).abs().max().item<double>(), 4e-6 * size) << what;
}

std::string name_of(const Shape& shape) {
  return fmt::format("{} rows, depth {}, {} columns", shape.rows, shape.depth, shape.columns);
}

TEST(Linear, EqualsProductsInDoublePrecision) {
  for (const Shape& shape : kShapes) {
    const Case made(shape);
    const at::Tensor packed = made.packed();
    EXPECT_EQ(columns_of(packed, shape.depth), shape.columns);
    for (const bool with_bias : {false, true}) {
      const at::Tensor bias = with_bias ? made.bias : none();
      for (const at::Tensor& weight : {made.weight, packed}) {
        expect_close(linear(made.x, weight, bias), made.expected(with_bias), shape.depth,
                     name_of(shape));
        const at::Tensor sum = random_tensor({shape.rows, shape.columns}, 4);
        const at::Tensor expected = sum + 0.5 * made.expected(with_bias);
        add_linear(sum, made.x, weight, bias, 0.5);
        expect_close(sum, expected, shape.depth, name_of(shape));
      }
    }
  }
}

TEST(Linear, GatesAreThoseOfTheWholeProduct) {
  // Whole panels of gate and up, and parts of them.
  for (const int64_t half : {64, 40}) {
    const Case made({101, 70, 2 * half});
    for (const Activation activation : {Activation::silu, Activation::gelu_tanh}) {
      for (const at::Tensor& bias : {none(), made.bias}) {
        const at::Tensor packed = made.packed();
        const at::Tensor whole = linear(made.x, packed, bias);
        EXPECT_TRUE(at::equal(gated_linear(made.x, packed, bias, activation),
                              gate_(whole.clone(), activation)));
        EXPECT_TRUE(at::equal(gated_linear(made.x, made.weight, bias, activation),
                              gate_(linear(made.x, made.weight, bias), activation)));
      }
    }
  }
}

TEST(Linear, RowsMayLieApart) {
  const Case made({50, 48, 64});
  const at::Tensor wide = random_tensor({50, 100}, 5);
  const at::Tensor x = wide.slice(1, 3, 51);
  const at::Tensor out = at::zeros({50, 80});
  linear_into(out.slice(1, 0, 64), x, made.packed(), none());
  EXPECT_TRUE(at::equal(out.slice(1, 0, 64), linear(x.contiguous(), made.packed(), none())));
  EXPECT_TRUE(at::equal(out.slice(1, 64), at::zeros({50, 16})));
  EXPECT_TRUE(at::equal(linear(made.x.t().contiguous().t(), made.packed(), none()),
                        linear(made.x, made.packed(), none())));
}

TEST(Linear, ARowIsTheSameAloneAndAmongOthers) {
  if (!packs_weights(at::kFloat, at::kCPU)) GTEST_SKIP() << "torch multiplies on this processor";
  for (const Shape& shape : {Shape{4096, 576, 100}, Shape{500, 1700, 64}}) {
    const Case made(shape);
    const at::Tensor packed = made.packed();
    const at::Tensor all = linear(made.x, packed, made.bias);
    const at::Tensor sums = random_tensor({shape.rows, shape.columns}, 4);
    const at::Tensor added = sums.clone();
    add_linear(added, made.x, packed, made.bias, 0.7);
    for (const int64_t begin : {0, 1, 11, 12, 95, 97, 300}) {
      for (const int64_t count : {1, 5, 12, 190}) {
        const at::Tensor part = made.x.slice(0, begin, begin + count);
        EXPECT_TRUE(at::equal(linear(part, packed, made.bias), all.slice(0, begin, begin + count)));
        const at::Tensor sum = sums.slice(0, begin, begin + count).clone();
        add_linear(sum, part, packed, made.bias, 0.7);
        EXPECT_TRUE(at::equal(sum, added.slice(0, begin, begin + count)));
      }
    }
  }
}

TEST(Linear, ThreadsChangeNothing) {
  if (!packs_weights(at::kFloat, at::kCPU)) GTEST_SKIP() << "torch multiplies on this processor";
  const Case made({1000, 300, 192});
  const at::Tensor packed = made.packed();
  const int before = at::get_num_threads();
  std::vector<at::Tensor> products;
  std::vector<at::Tensor> gates;
  for (const int threads : {1, 2, 3, 16}) {
    at::set_num_threads(threads);
    products.push_back(linear(made.x, packed, made.bias));
    gates.push_back(gated_linear(made.x, packed, made.bias, Activation::silu));
  }
  at::set_num_threads(before);
  for (const at::Tensor& product : products) EXPECT_TRUE(at::equal(product, products.front()));
  for (const at::Tensor& gated : gates) EXPECT_TRUE(at::equal(gated, gates.front()));
}

TEST(Linear, NoNumberIsLost) {
  const Case made({20, 50, 70});
  made.x.select(0, 7).fill_(std::numeric_limits<float>::quiet_NaN());
  const at::Tensor out = linear(made.x, made.packed(), none());
  EXPECT_TRUE(out.select(0, 7).isnan().all().item<bool>());
  EXPECT_EQ(out.isnan().sum().item<int64_t>(), 70);
  EXPECT_EQ(linear(made.x.slice(0, 0, 0), made.packed(), none()).sizes(),
            (std::vector<int64_t>{0, 70}));
}

TEST(Linear, OtherDtypesStayAsTheyAre) {
  const at::Tensor weight = random_tensor({32, 16}, 1).to(at::kBFloat16);
  EXPECT_TRUE(packed_weights(weight).is_same(weight));
}

// Every kernel that this processor can run, not only the one it uses by default.
TEST(ProductKernel, EqualsProductsInDoublePrecision) {
  for (const cpu::ProductKernel* kernel : cpu::product_kernels()) {
    for (const Shape& shape : kShapes) {
      const Case made(shape);
      const at::Tensor packed = made.packed();
      const cpu::PackedMatrix matrix{packed.const_data_ptr<float>(), shape.columns, shape.depth};
      const int64_t rows = at::divup(shape.rows, kernel->tile) * kernel->tile;
      const at::Tensor block = at::empty({cpu::block_size(rows, shape.depth)});
      const at::Tensor room = at::empty({shape.depth, cpu::kPanel});
      const at::Tensor sums = at::empty({rows, cpu::kPanel});
      kernel->copy_rows({made.x.const_data_ptr<float>(), shape.depth, shape.rows}, shape.depth,
                        block.mutable_data_ptr<float>());
      for (int64_t panel = 0; panel < matrix.panels(); ++panel) {
        kernel->multiply(block.const_data_ptr<float>(), shape.rows, shape.depth,
                         cpu::panel_of(matrix, panel, room.mutable_data_ptr<float>()),
                         sums.mutable_data_ptr<float>(), cpu::kPanel);
        const int64_t width = matrix.width(panel);
        const int64_t first = panel * cpu::kPanel;
        expect_close(sums.slice(0, 0, shape.rows).slice(1, 0, width),
                     made.expected(false).slice(1, first, first + width), shape.depth,
                     fmt::format("{}: {}", kernel->name, name_of(shape)));
      }
    }
  }
}

}  // namespace
}  // namespace ropewalk
