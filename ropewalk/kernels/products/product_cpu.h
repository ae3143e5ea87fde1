#pragma once

#include <cstdint>
#include <span>

// Products of float32 rows with a layer's weights, x Wᵀ, on the CPU.
//
// Weights are packed once, when a layer is loaded. Rows are copied into a thread's scratch, a block
// of them at a time, and meet the panels there. Every number of a result is a sum over the depth in
// one order, whatever the number of rows, their places and the number of threads: slices of
// kSlice numbers at most, each summed from its first to its last, then added up in order.
namespace ropewalk::cpu {

constexpr int64_t kPanel = 32;   // columns of a result that are computed together
constexpr int64_t kGroup = 16;   // numbers of a row that are copied together
constexpr int64_t kSlice = 192;  // rounds as little as MKL, and a panel's fits the nearest cache

// A matrix W [columns, depth] takes as many numbers packed: a panel of 32 columns, [depth, 32],
// after the other, and at the end [depth, columns % 32].
struct PackedMatrix {
  const float* data = nullptr;
  int64_t columns = 0;
  int64_t depth = 0;
  constexpr int64_t panels() const { return (columns + kPanel - 1) / kPanel; }
  constexpr int64_t width(int64_t panel) const {
    return panel * kPanel + kPanel <= columns ? kPanel : columns - panel * kPanel;
  }
};

// Packs W [columns, depth] where it is.
void pack_matrix(float* data, int64_t columns, int64_t depth);
// A panel [depth, kPanel]: as it lies in the matrix, or the last one filled up with zeros in
// `room`.
const float* panel_of(const PackedMatrix& matrix, int64_t panel, float* room);

// Rows of numbers that lie side by side; the stride counts numbers.
struct FloatRows {
  const float* data = nullptr;
  int64_t stride = 0;
  int64_t count = 0;
};

struct ProductKernel {
  const char* name;
  int64_t tile;  // a block is a multiple of so many rows
  // Copies rows into a block: [tiles, depth / kGroup, tile, kGroup], zeros after the last row.
  void (*copy_rows)(const FloatRows& rows, int64_t depth, float* block);
  // sums [rows, kPanel] = a block times a panel [depth, kPanel]; `stride` numbers from row to row,
  // and room for whole tiles.
  void (*multiply)(const float* block, int64_t rows, int64_t depth, const float* panel, float* sums,
                   int64_t stride);
};

// What this processor can run, the fastest first; nothing where only torch's own products will do.
std::span<const ProductKernel* const> product_kernels();

// Numbers of a block of so many rows.
constexpr int64_t block_size(int64_t rows, int64_t depth) {
  return rows * ((depth + kGroup - 1) / kGroup * kGroup);
}

// What becomes of sums, [rows, columns] like `out`: out = sums + bias, or out += scale (sums +
// bias).
struct SumsTarget {
  float* out = nullptr;
  int64_t stride = 0;           // numbers from row to row
  const float* bias = nullptr;  // [columns], or nothing
  bool add = false;
  float scale = 1;
};
void finish(const FloatRows& sums, int64_t columns, const SumsTarget& target);

}  // namespace ropewalk::cpu
