#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace ropewalk {

struct CheckpointTable;

// How much a head's PC0 depends on position, by r_q and |r_k|; thresholds 0.7 and 0.3, strict.
enum class HeadClass {
  position_dominated,  // both high
  q_positional,        // r_q high, |r_k| low
  k_positional,        // r_q low, |r_k| high
  content_focused,     // both low
  mixed,               // anything else
};

inline constexpr double kHighCorrelation = 0.7;
inline constexpr double kLowCorrelation = 0.3;
inline constexpr std::array kHeadClasses{HeadClass::position_dominated, HeadClass::q_positional,
                                         HeadClass::k_positional, HeadClass::content_focused,
                                         HeadClass::mixed};

// "position-dominated", …
std::string_view class_name(HeadClass head_class);

// r_q and r_k must not be NaN.
HeadClass classify(double r_q, double r_k);

// The class of the head with this row of PC0; empty where r_q or r_k is missing.
std::optional<HeadClass> class_of(const CheckpointTable& checkpoint, size_t row);

}  // namespace ropewalk
