#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "ropewalk/base/files/json.h"

namespace ropewalk {

constexpr size_t kLongestComparedLabel = 40;
constexpr int64_t kMostContext = INT32_MAX;

// A number of a run or of a reference; NaN: missing or unknown.
struct ComparedValue {
  double value = std::numeric_limits<double>::quiet_NaN();
  double se = std::numeric_limits<double>::quiet_NaN();
};

// Reads a leaf of a reference: a number, {value, se}, or null. Throws InputError naming `source`
// and `where`.
ComparedValue read_compared(const Json& json, const std::string& source, const std::string& where);

// The kind of a JSON value in words: "an array", "a number", "null".
std::string kind_of(const Json& json);

// How many decimals show three digits of the largest of these numbers: 3 to 6.
int decimals_for(const std::vector<double>& numbers);

// A number padded on its left; a dash for NaN.
std::string number_cell(double number, int decimals, int width, bool sign = false);

}  // namespace ropewalk
