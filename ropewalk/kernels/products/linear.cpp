#include "ropewalk/kernels/products/linear.h"

#include <algorithm>
#include <utility>

#include "ropewalk/kernels/products/elementwise.h"
#include "ropewalk/kernels/products/product_cpu.h"

namespace ropewalk {
namespace {

bool is_packed(const at::Tensor& weight) { return weight.dim() == 1; }

const cpu::ProductKernel& kernel() { return *cpu::product_kernels().front(); }

// The number of rows that a thread copies and multiplies at a time, such that they fit its cache
// together with a panel.
int64_t block_rows(int64_t depth) {
  constexpr int64_t kMost = 96;  // a multiple of whole tiles, as are smaller numbers
  constexpr int64_t kLeast = 24;
  constexpr int64_t kNumbers = 1 << 18;
  return std::clamp(kNumbers / depth / kLeast * kLeast, kLeast, kMost);
}

// The layout of a thread's scratch, in numbers: a block of rows, its sums with two panels, and a
// padded panel.
struct ScratchLayout {
  explicit ScratchLayout(int64_t depth)
      : sums(cpu::block_size(block_rows(depth), depth)),
        panel(sums + block_rows(depth) * kStride),
        size(panel + depth * cpu::kPanel) {}
  static constexpr int64_t kStride = 2 * cpu::kPanel;  // from row to row of the sums
  int64_t sums;
  int64_t panel;
  int64_t size;
};

// A block of rows and the panels that it is multiplied with.
struct Block {
  const cpu::PackedMatrix& matrix;
  int64_t row = -1;  // the first row
  int64_t count = 0;
  float* rows = nullptr;   // copied, in the kernel's layout
  float* sums = nullptr;   // [count, 2, kPanel]: scratch for sums with two panels
  float* panel = nullptr;  // scratch for a padded panel

  // sums[:, part] = rows times a panel
  void multiply(int64_t which, int64_t part) const {
    kernel().multiply(rows, count, matrix.depth, cpu::panel_of(matrix, which, panel),
                      sums + part * cpu::kPanel, ScratchLayout::kStride);
  }
  cpu::FloatRows part(int64_t which) const {
    return {sums + which * cpu::kPanel, ScratchLayout::kStride, count};
  }
};

// Calls step(block, i) for every block of the rows of x [T, depth] and i < steps. Threads have
// equal shares of all these pairs, and copy each of their blocks once.
template <typename Step>
void for_blocks(const at::Tensor& x, const cpu::PackedMatrix& matrix, int64_t steps, Step step) {
  const at::Tensor rows = x.stride(1) == 1 ? x : x.contiguous();
  const int64_t most = block_rows(matrix.depth);
  const int64_t pairs = at::divup(rows.size(0), most) * steps;
  const ScratchLayout room(matrix.depth);
  const at::Tensor rooms = at::empty({at::get_num_threads(), room.size}, rows.options());
  // Enough work to be worth waking a thread.
  const int64_t grain = at::divup(1 << 20, most * cpu::kPanel * matrix.depth);
  at::parallel_for(0, pairs, grain, [&](int64_t begin, int64_t end) {
    float* own = rooms.mutable_data_ptr<float>() + at::get_thread_num() * room.size;
    Block block{matrix, -1, 0, own, own + room.sums, own + room.panel};
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = i / steps * most;
      if (std::exchange(block.row, row) != row) {
        block.count = std::min(most, rows.size(0) - row);
        const float* first = rows.const_data_ptr<float>() + row * rows.stride(0);
        kernel().copy_rows({first, rows.stride(0), block.count}, matrix.depth, block.rows);
      }
      step(block, i % steps);
    }
  });
}

const float* bias_from(const at::Tensor& bias, int64_t column) {
  return bias.defined() ? bias.const_data_ptr<float>() + column : nullptr;
}

cpu::PackedMatrix matrix_of(const at::Tensor& weight, int64_t depth) {
  return {weight.const_data_ptr<float>(), columns_of(weight, depth), depth};
}

// out = x weight^T + bias, or out += scale * (x weight^T + bias)
void multiply_packed(const at::Tensor& out, const at::Tensor& x, const at::Tensor& weight,
                     const at::Tensor& bias, bool add, double scale) {
  const cpu::PackedMatrix matrix = matrix_of(weight, x.size(1));
  for_blocks(x, matrix, matrix.panels(), [&](const Block& block, int64_t panel) {
    const int64_t column = panel * cpu::kPanel;
    block.multiply(panel, 0);
    cpu::store_sums(block.part(0), matrix.width(panel),
                    {.out = out.mutable_data_ptr<float>() + block.row * out.stride(0) + column,
                     .stride = out.stride(0),
                     .bias = bias_from(bias, column),
                     .add = add,
                     .scale = static_cast<float>(scale)});
  });
}

// Gate and up are combined in the cache, so that [T, 2 d_mlp] is never written.
at::Tensor multiply_gated(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                          Activation activation) {
  const cpu::PackedMatrix matrix = matrix_of(weight, x.size(1));
  const int64_t half = matrix.columns / 2;
  const at::Tensor out = at::empty({x.size(0), half}, x.options());
  for_blocks(x, matrix, half / cpu::kPanel, [&](const Block& block, int64_t panel) {
    for (int64_t part = 0; part < 2; ++part) {
      const int64_t column = part * half + panel * cpu::kPanel;
      block.multiply(column / cpu::kPanel, part);
      if (!bias.defined()) continue;
      cpu::store_sums(block.part(part), cpu::kPanel,
                      {.out = block.sums + part * cpu::kPanel,
                       .stride = ScratchLayout::kStride,
                       .bias = bias_from(bias, column)});
    }
    const StridedRows rows{block.sums, block.count, 1, ScratchLayout::kStride, 0};
    cpu::run(GatePass{.x = rows, .width = cpu::kPanel, .activation = activation}, 0, block.count);
    cpu::store_sums(block.part(0), cpu::kPanel,
                    {.out = out.mutable_data_ptr<float>() + block.row * half + panel * cpu::kPanel,
                     .stride = half});
  });
  return out;
}

}  // namespace

bool packs_weights(at::ScalarType dtype, const at::Device& device) {
  return device.is_cpu() && dtype == at::kFloat && !cpu::product_kernels().empty();
}

at::Tensor packed_weights(const at::Tensor& weight) {
  if (!packs_weights(weight.scalar_type(), weight.device())) return weight;
  cpu::pack_matrix(weight.mutable_data_ptr<float>(), weight.size(0), weight.size(1));
  return weight.view({-1});
}

int64_t columns_of(const at::Tensor& weight, int64_t depth) {
  return is_packed(weight) ? weight.numel() / depth : weight.size(0);
}

at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  if (!is_packed(weight)) return at::linear(x, weight, bias);
  const at::Tensor out = at::empty({x.size(0), columns_of(weight, x.size(1))}, x.options());
  linear_into(out, x, weight, bias);
  return out;
}

void linear_into(at::Tensor out, const at::Tensor& x, const at::Tensor& weight,
                 const at::Tensor& bias) {
  if (is_packed(weight)) {
    multiply_packed(out, x, weight, bias, /*add=*/false, 1);
  } else if (bias.defined()) {
    at::addmm_out(out, bias, x, weight.t());
  } else {
    at::mm_out(out, x, weight.t());
  }
}

void add_linear(at::Tensor sum, const at::Tensor& x, const at::Tensor& weight,
                const at::Tensor& bias, double scale) {
  if (is_packed(weight)) {
    multiply_packed(sum, x, weight, bias, /*add=*/true, scale);
    return;
  }
  sum.addmm_(x, weight.t(), 1, scale);
  if (bias.defined()) sum.add_(bias, scale);
}

at::Tensor gated_linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                        Activation activation) {
  const int64_t half = columns_of(weight, x.size(1)) / 2;
  if (!is_packed(weight) || half % cpu::kPanel != 0) {
    return gate_(linear(x, weight, bias), activation);
  }
  return multiply_gated(x, weight, bias, activation);
}

int64_t linear_workspace(int64_t depth) {
  return at::get_num_threads() * ScratchLayout(depth).size * static_cast<int64_t>(sizeof(float));
}

}  // namespace ropewalk
