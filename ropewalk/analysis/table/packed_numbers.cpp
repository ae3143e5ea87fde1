#include "ropewalk/analysis/table/packed_numbers.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

#include "ropewalk/base/base64.h"

namespace ropewalk {
namespace {

struct Decimal {
  int32_t digits = kMissingDigits;
  int8_t decimals = 0;
};

Decimal decimal(double value) {
  if (std::isinf(value)) return {kNoRowDigits, 0};
  if (std::isnan(value)) return {};
  // "-d.dddddddde-XX": rounded in the same way as the table's text.
  fmt::memory_buffer text;
  fmt::format_to(std::back_inserter(text), "{:.8e}", value);
  const char* at = text.begin();
  const bool negative = *at == '-';
  if (negative) ++at;
  Decimal number{*at - '0', 0};
  for (const char* c = at + 2; c < at + 10; ++c) number.digits = number.digits * 10 + (*c - '0');
  if (number.digits == 0) return {0, 0};
  const bool small = at[11] == '-';
  int exponent = 0;
  std::from_chars(at + 12, text.end(), exponent);
  const int decimals = 8 - (small ? -exponent : exponent);
  if (decimals > std::numeric_limits<int8_t>::max()) return {0, 0};
  if (decimals < std::numeric_limits<int8_t>::min()) return {};
  number.decimals = static_cast<int8_t>(decimals);
  if (negative) number.digits = -number.digits;
  return number;
}

// The number of bytes that are kept of a float32, and the name of the format.
int width_of(FloatKind kind) {
  return kind == FloatKind::float32 ? 4 : kind == FloatKind::float24 ? 3 : 2;
}
const char* name_of(FloatKind kind) {
  return kind == FloatKind::float32   ? "float32"
         : kind == FloatKind::float24 ? "float24"
                                      : "bfloat16";
}

}  // namespace

Json pack_numbers(const std::vector<double>& values) {
  std::string digits, decimals;
  for (const double value : values) {
    const Decimal number = decimal(value);
    const auto bits = static_cast<uint32_t>(number.digits);
    for (int shift = 0; shift < 32; shift += 8) digits += static_cast<char>(bits >> shift & 255U);
    decimals += static_cast<char>(number.decimals);
  }
  return {{"digits", base64(digits)}, {"places", base64(decimals)}};
}

Json pack_floats(const std::vector<double>& values, FloatKind kind) {
  std::string bytes;
  const int dropped = 32 - 8 * width_of(kind);  // number of bits that are dropped
  for (const double value : values) {
    const bool fits = std::abs(value) <= std::numeric_limits<float>::max();
    auto bits = std::bit_cast<uint32_t>(fits ? static_cast<float>(value)
                                             : std::numeric_limits<float>::quiet_NaN());
    if (dropped > 0 && fits) bits += 1U << (dropped - 1);
    for (int shift = dropped; shift < 32; shift += 8) {
      bytes += static_cast<char>(bits >> shift & 255U);
    }
  }
  return {{name_of(kind), base64(bytes)}};
}

}  // namespace ropewalk
