#include "ropewalk/study/show/compared_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ropewalk/base/error.h"

namespace ropewalk {

ComparedValue read_compared(const Json& json, const std::string& source, const std::string& where) {
  if (json.is_number()) return {.value = json.get<double>()};
  if (json.is_null()) return {};
  if (json.is_object() && json.contains("value")) {
    ComparedValue found = read_compared(json["value"], source, where);
    if (const Json se = json.value("se", Json()); se.is_number()) found.se = se.get<double>();
    return found;
  }
  throw InputError("{}: {} is {}; expected a number or {{\"value\": …, \"se\": …}}", source, where,
                   kind_of(json));
}

std::string kind_of(const Json& json) {
  const std::string name = json.type_name();
  if (json.is_null()) return name;
  return (json.is_array() || json.is_object() ? "an " : "a ") + name;
}

int decimals_for(const std::vector<double>& numbers) {
  double largest = 0;
  for (const double number : numbers) largest = std::fmax(largest, std::abs(number));
  if (!(largest > 0) || !std::isfinite(largest)) return 3;
  return static_cast<int>(std::clamp(2 - std::floor(std::log10(largest)), 3.0, 6.0));
}

std::string number_cell(double number, int decimals, int width, bool sign) {
  std::string text = "–";
  if (!std::isnan(number)) {
    text =
        sign ? fmt::format("{:+.{}f}", number, decimals) : fmt::format("{:.{}f}", number, decimals);
    // A number that rounds to 0 has no sign.
    if (text.find_first_not_of("+-0.") == std::string::npos) {
      text.erase(0, text.find_first_not_of("+-"));
    }
  }
  // Columns are padded by visible characters: a dash has three bytes.
  const int seen = std::isnan(number) ? 1 : static_cast<int>(text.size());
  return std::string(static_cast<size_t>(std::max(0, width - seen)), ' ') + text;
}

}  // namespace ropewalk
