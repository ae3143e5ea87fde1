#pragma once

#include <cstdint>

namespace ropewalk {

// Operations on symmetric matrices [d, d] in one pass over memory, where tensor operations take one
// pass each. They round as those do, so that results are equal to the last bit.

// The full matrix of a packed upper triangle, row by row.
void unpack_symmetric(double* matrix, const float* packed, int64_t d);
void unpack_symmetric(double* matrix, const double* packed, int64_t d);

// left = whole - part - offset offsetᵀ · weight
void subtract_part(double* left, const double* whole, const double* part, const double* offset,
                   double weight, int64_t d);

// pooled = (a + b + offset offsetᵀ · weight) / over
void pool_matrices(double* pooled, const double* a, const double* b, const double* offset,
                   double weight, double over, int64_t d);

}  // namespace ropewalk
