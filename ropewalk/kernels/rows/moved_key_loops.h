#pragma once

#include <cstdint>

namespace ropewalk {

// Loops over float32 numbers on the CPU, of which a row of attention with moved keys is made
// (moved_keys.h). Arrays may be read, and products written, up to a tile behind their end.
inline constexpr int64_t kMovedKeyTile = 32;

// queries [lines, d] times `count` keys, columns of [d, stride]: [lines, size], of which the last
// ones may be of keys behind them.
void multiply_keys(const float* queries, int64_t lines, int64_t d, const float* keys,
                   int64_t stride, int64_t count, float* made, int64_t size);

// Sums over moved logits x, with the logits a of the same keys and b of the same places.
struct MovedSums {
  double x = 0, squares = 0, with_key = 0, with_place = 0;
};

// Of the moved logits, `mean` is taken away.
void add_products(const float* moved, const float* key, const float* place, int64_t count,
                  float mean, MovedSums& sums);

// The sum of `count` numbers, and of their squares.
double sum_of(const float* x, int64_t count, double& squares);

void subtract(const float* x, int64_t count, float mean, float* to);

// Turns `count` pairs of numbers, the two of one `apart`, the next ones `step` on.
void turn_pairs(const float* x, const float* cos, const float* sin, int64_t count, int64_t step,
                int64_t apart, float* to);

}  // namespace ropewalk
