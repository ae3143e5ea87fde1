#include "ropewalk/analysis/taxonomy.h"

#include <cmath>

namespace ropewalk {

std::string_view class_name(HeadClass head_class) {
  switch (head_class) {
    case HeadClass::position_dominated:
      return "position-dominated";
    case HeadClass::q_positional:
      return "q-positional";
    case HeadClass::k_positional:
      return "k-positional";
    case HeadClass::content_focused:
      return "content-focused";
    case HeadClass::mixed:
      break;
  }
  return "mixed";
}

HeadClass classify(double r_q, double r_k) {
  const double k = std::abs(r_k);
  if (r_q > kHighCorrelation && k > kHighCorrelation) return HeadClass::position_dominated;
  if (r_q > kHighCorrelation && k < kLowCorrelation) return HeadClass::q_positional;
  if (r_q < kLowCorrelation && k > kHighCorrelation) return HeadClass::k_positional;
  if (r_q < kLowCorrelation && k < kLowCorrelation) return HeadClass::content_focused;
  return HeadClass::mixed;
}

}  // namespace ropewalk
