#pragma once

#include <cstdint>

namespace ropewalk {

// Loops over rows of numbers, without the start-up cost of tensor operations.
double dot(const double* a, const double* b, int64_t d);
// y = scale · y + weight · x
void blend(double* y, double scale, double weight, const double* x, int64_t d);
// y = x m, for `rows` rows x and a matrix [d, d]. A row's result does not depend on the other rows.
void multiply_rows(double* y, const double* x, int64_t rows, const double* m, int64_t d);

// Rows of float32 or bfloat16, `stride` numbers apart.
struct NumberRows {
  const void* data = nullptr;
  bool bfloat16 = false;
  int64_t count = 0;
  int64_t stride = 0;
};
// Adds, over rows, the lengths of their pairs of numbers: f and pairs + f, or 2f and 2f + 1 where
// they are interleaved.
void add_lengths(double* sum, const NumberRows& rows, int64_t pairs, bool interleaved);

}  // namespace ropewalk
