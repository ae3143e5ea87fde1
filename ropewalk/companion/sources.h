#pragma once

#include <string_view>

namespace ropewalk {

// The source texts of companion.py and of its tasks.
extern const std::string_view kCompanionSource;
extern const std::string_view kTokensSource;
extern const std::string_view kFiguresSource;
extern const std::string_view kModelSource;

// The Python interpreter that the program was configured with.
extern const std::string_view kBuildPython;

}  // namespace ropewalk
