#pragma once

#include <cstdint>

namespace ropewalk {

// Every row of x [rows, d] becomes the sum of the rows up to it, each less `mean` [d].
void prefix_rows(float* x, const float* mean, int64_t rows, int64_t d);

// Adds up to a few hundred rows of x [rows, d] to a sum [d], and times 0, 1, 2, … to another.
void add_rows(const float* x, int64_t rows, int64_t d, double* sum, double* times);

// The dot product of two lists of up to a few thousand numbers.
float float_dot(const float* a, const float* b, int64_t count);

// That of a with a difference: a · (b - c).
double difference_dot(const double* a, const double* b, const double* c, int64_t count);

}  // namespace ropewalk
