#pragma once

#include <cstdint>

namespace ropewalk {

// Of rows of numbers, without what an operation on tensors costs to begin.
double dot(const double* a, const double* b, int64_t d);
// y = scale · y + weight · x
void blend(double* y, double scale, double weight, const double* x, int64_t d);

}  // namespace ropewalk
