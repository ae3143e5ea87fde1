#pragma once

#include <cstdint>

namespace ropewalk {

// Of rows of numbers, without what an operation on tensors costs to begin.
double dot(const double* a, const double* b, int64_t d);
// y = scale · y + weight · x
void blend(double* y, double scale, double weight, const double* x, int64_t d);
// Adds up, over rows of x that lie `stride` numbers apart, the lengths of their pairs of numbers: f
// and pairs + f, or 2f and 2f + 1 where they are interleaved.
void add_lengths(double* sum, const float* x, int64_t rows, int64_t stride, int64_t pairs,
                 bool interleaved);

}  // namespace ropewalk
