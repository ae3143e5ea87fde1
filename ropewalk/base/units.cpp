#include "ropewalk/base/units.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/base/utf8.h"

namespace ropewalk {

int64_t parse_bytes(std::string_view text, std::string_view what) {
  static constexpr std::array<std::pair<std::string_view, double>, 14> kUnits{
      {{"", 1},
       {"b", 1},
       {"kb", 1e3},
       {"mb", 1e6},
       {"gb", 1e9},
       {"tb", 1e12},
       {"kib", 1024.0},
       {"mib", 1048576.0},
       {"gib", 1073741824.0},
       {"tib", 1099511627776.0},
       {"k", 1024.0},
       {"m", 1048576.0},
       {"g", 1073741824.0},
       {"t", 1099511627776.0}}};
  const std::string copy(text);
  char* end = nullptr;
  const double number = std::strtod(copy.c_str(), &end);
  while (*end == ' ') ++end;
  const std::string unit = lower_case(end);
  if (end != copy.c_str() && std::isfinite(number) && number > 0) {
    for (const auto& [name, factor] : kUnits) {
      const double bytes = number * factor;
      if (unit == name && bytes >= 1 && bytes < 9e18) return static_cast<int64_t>(bytes);
    }
  }
  throw UsageError("{}: '{}' is not a size; write for example 8GiB or 500MB", what, text);
}

std::string format_bytes(int64_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (bytes >= int64_t{1} << 30) return fmt::format("{:.2f} GiB", value / (1 << 30));
  if (bytes >= int64_t{1} << 20) return fmt::format("{:.1f} MiB", value / (1 << 20));
  if (bytes >= 1024) return fmt::format("{:.1f} KiB", value / 1024);
  return fmt::format("{} B", bytes);
}

std::string format_number_of(int64_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

std::string format_count(double count) {
  if (count >= 1e9) return fmt::format("{:.2f}G", count / 1e9);
  if (count >= 1e6) return fmt::format("{:.2f}M", count / 1e6);
  if (count >= 1e3) return fmt::format("{:.1f}k", count / 1e3);
  return fmt::format("{:.3g}", count);
}

std::string format_duration(double seconds) {
  const auto total = static_cast<int64_t>(std::llround(seconds));
  if (total >= 3600) return fmt::format("{} h {:02} min", total / 3600, total / 60 % 60);
  if (total >= 60) return fmt::format("{} min {:02} s", total / 60, total % 60);
  return fmt::format("{} s", total);
}

std::string format_decimals(double value, int decimals) {
  std::string text = fmt::format("{:.{}f}", value, decimals);
  if (!text.starts_with('-')) return text;
  const bool zero = text.find_first_not_of("-0.") == std::string::npos;
  return (zero ? "" : "−") + text.substr(1);
}

std::string format_error(double se, int decimals) {
  if (std::isnan(se) || se == 0) return "";
  const double least = std::pow(10, -decimals);
  if (se < least / 2) return fmt::format(" ± <{:.{}f}", least, decimals);
  return fmt::format(" ± {:.{}f}", se, decimals);
}

}  // namespace ropewalk
