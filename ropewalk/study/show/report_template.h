#pragma once

#include <string_view>

namespace ropewalk {

// The report's page, built from report/ with the program, with kReportPlaceholder where its data
// are inserted. Empty where the program was built without it.
std::string_view report_template();

inline constexpr std::string_view kReportPlaceholder = "@ROPEWALK_DATA@";

}  // namespace ropewalk
