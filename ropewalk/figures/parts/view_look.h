#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ropewalk/analysis/statistics/statistic.h"

namespace ropewalk {

// How figures speak of a reading and what limits its numbers have, from its own declaration.

// The place in all_views() of a key that figures can be asked for. Throws UsageError on an
// unknown one.
size_t find_view(std::string_view key);

// "no statistic is named 'r2cv'; did you mean r2cv_q or r2cv_k?", or empty where there is one.
std::string unknown_statistic_error(std::string_view key);

// "|r_k|", and "|r_k| on PC0"
std::string view_name(const IndexedView& indexed);
std::string view_title(const IndexedView& indexed);
// The same as the beginning of a title.
std::string capital_title(const IndexedView& indexed);
// Its definition as a sentence.
std::string view_sentence(const IndexedView& indexed);

// Whether its numbers have limits on both sides.
bool has_limits(const IndexedView& indexed);

// 1, 2 or 5 times a power of ten, of which about five make `value`, which is not 0.
double round_step(double value);

struct Limits {
  double low = 0;
  double high = 1;
};

// What its numbers cannot pass; infinite: nothing. Of an absolute value, 0 below.
Limits value_limits(const IndexedView& indexed);

// Limits of an axis or of colours for numbers from `least` to `most` (NaN: none): those that the
// reading declares. On a side where its numbers have no limit, round ones that fit them, where the
// declared ones do not.
Limits view_limits(const IndexedView& indexed, double least, double most);

}  // namespace ropewalk
