#pragma once

#include <cstdint>
#include <vector>

#include "ropewalk/base/files/json.h"

// Numbers as the report's page reads them (docs/report.md).
namespace ropewalk {

// Numbers of whole heads in the page's format: base64 of little-endian float32, or of its upper
// three (float24) or two bytes (bfloat16), rounded, under the name of the format. NaN: missing.
enum class FloatKind { float32, float24, bfloat16 };
Json pack_floats(const std::vector<double>& values, FloatKind kind);

// Nine significant digits of each number and the position of their decimal point, both as base64:
// value = digits / 10^decimals, digits little-endian int32, decimals int8. NaN: kMissingDigits.
Json pack_numbers(const std::vector<double>& values);

inline constexpr int32_t kMissingDigits = INT32_MIN;    // the table's field is empty
inline constexpr int32_t kNoRowDigits = INT32_MIN + 1;  // the table has no such row

}  // namespace ropewalk
