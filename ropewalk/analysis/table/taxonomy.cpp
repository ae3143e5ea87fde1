#include "ropewalk/analysis/table/taxonomy.h"

#include <cmath>

#include "ropewalk/analysis/table/run_table.h"

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

std::optional<HeadClass> class_of(const CheckpointTable& checkpoint, size_t row) {
  const double r_q = checkpoint.column("r_q").value[row];
  const double r_k = checkpoint.column("r_k").value[row];
  if (std::isnan(r_q) || std::isnan(r_k)) return std::nullopt;
  return classify(r_q, r_k);
}

}  // namespace ropewalk
