#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ropewalk/analysis/statistics/statistic.h"

namespace ropewalk {

// How figures describe a view and which limits its numbers have, from its declaration.

// The index in all_views() of a key for which figures can be requested. Throws UsageError on an
// unknown key.
size_t find_view(std::string_view key);

// "no statistic is named 'r2cv'; did you mean r2cv_q or r2cv_k?"; empty where the key exists.
std::string unknown_statistic_error(std::string_view key);

// "|r_k|", or "|r_k| on PC0".
std::string view_name(const IndexedView& indexed);
std::string view_title(const IndexedView& indexed);
// The name of the view at the beginning of a title.
std::string capital_title(const IndexedView& indexed);
// The view's definition as a sentence.
std::string view_sentence(const IndexedView& indexed);

// Whether its numbers have limits on both sides.
bool has_limits(const IndexedView& indexed);

// 1, 2 or 5 times a power of ten; about five such steps make `value`, which must not be 0.
double round_step(double value);

struct Limits {
  double low = 0;
  double high = 1;
};

// The limits that the numbers cannot exceed; infinite: none. The lower one of an absolute value is
// 0.
Limits value_limits(const IndexedView& indexed);

// Limits of an axis or of colours for numbers from `least` to `most` (NaN: none). These are the
// limits that the view declares; on a side where its numbers have no limit, round numbers replace a
// declared limit that does not contain them.
Limits view_limits(const IndexedView& indexed, double least, double most);

}  // namespace ropewalk
