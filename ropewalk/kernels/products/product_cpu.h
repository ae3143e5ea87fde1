#pragma once

#include <cstdint>
#include <span>

// Products of float32 rows with a layer's weights, x Wᵀ, on the CPU.
//
// Weights are packed once, when a layer is loaded. Rows are copied into a thread's scratch, one
// block at a time, and multiplied with panels there. Every number of a result is a sum over the
// depth in one order, independent of the number of rows, their positions and the number of threads:
// slices of at most kSlice numbers, each summed from its first to its last number, are added up in
// order.
namespace ropewalk::cpu {

constexpr int64_t kPanel = 32;  // columns of a result that are computed together
constexpr int64_t kGroup = 16;  // numbers of a row that are copied together
// Rounds as little as MKL, and a panel's slice fits the nearest cache.
constexpr int64_t kSlice = 192;

// A packed matrix W [columns, depth], of as many numbers: one panel of 32 columns, [depth, 32],
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

// Packs W [columns, depth] in place.
void pack_matrix(float* data, int64_t columns, int64_t depth);
// A panel [depth, kPanel]: as it lies in the matrix, or the last one padded with zeros in `room`.
const float* panel_of(const PackedMatrix& matrix, int64_t panel, float* room);

// Rows whose numbers lie side by side; the stride counts numbers.
struct FloatRows {
  const float* data = nullptr;
  int64_t stride = 0;
  int64_t count = 0;
};

struct ProductKernel {
  const char* name;
  int64_t tile;  // the rows of a block are a multiple of it
  // Copies rows into a block: [tiles, depth / kGroup, tile, kGroup], zeros after the last row.
  void (*copy_rows)(const FloatRows& rows, int64_t depth, float* block);
  // sums [rows, kPanel] = a block times a panel [depth, kPanel]; `stride` is the distance of rows
  // of sums, which have room for whole tiles.
  void (*multiply)(const float* block, int64_t rows, int64_t depth, const float* panel, float* sums,
                   int64_t stride);
};

// The kernels that this processor can run, the fastest first; empty where only torch's own products
// apply.
std::span<const ProductKernel* const> product_kernels();

// The numbers of a block of that many rows.
constexpr int64_t block_size(int64_t rows, int64_t depth) {
  return rows * ((depth + kGroup - 1) / kGroup * kGroup);
}

// The target of sums, [rows, columns] like `out`: out = sums + bias, or out += scale (sums + bias).
struct SumsTarget {
  float* out = nullptr;
  int64_t stride = 0;           // numbers from row to row
  const float* bias = nullptr;  // [columns], or null
  bool add = false;
  float scale = 1;
};
void store_sums(const FloatRows& sums, int64_t columns, const SumsTarget& target);

}  // namespace ropewalk::cpu
