#pragma once

#include <cstdint>

namespace ropewalk {

// Adds, for each of the sorted lags, the dot products q_t · k_(t - lag) of the tokens `from` to
// `to` of one head, and their squares. q holds those tokens, k holds all; rows have d numbers.
void sum_lags(const float* q, const float* k, int64_t from, int64_t to, int64_t d,
              const int64_t* lags, int64_t lag_count, double* sum, double* squares);

}  // namespace ropewalk
