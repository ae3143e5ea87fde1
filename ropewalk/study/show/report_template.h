#pragma once

#include <string_view>

namespace ropewalk {

// The report's page, made from report/ at build time, with kReportPlaceholder where its data go.
// Empty where the program was built without it.
std::string_view report_template();

inline constexpr std::string_view kReportPlaceholder = "@ROPEWALK_DATA@";

}  // namespace ropewalk
