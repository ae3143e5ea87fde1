#pragma once

#include <cstdint>

namespace ropewalk {

// Replaces every row of x [rows, d] by the sum of the rows up to it, each less `mean` [d].
void prefix_rows(float* x, const float* mean, int64_t rows, int64_t d);

// Adds a few hundred rows of x [rows, d] at most to `sum` [d], and the rows times 0, 1, 2, … to
// `times` [d].
void add_rows(const float* x, int64_t rows, int64_t d, double* sum, double* times);

// The dot product of two lists of up to a few thousand numbers.
float float_dot(const float* a, const float* b, int64_t count);

// The dot product a · (b - c).
double difference_dot(const double* a, const double* b, const double* c, int64_t count);

}  // namespace ropewalk
