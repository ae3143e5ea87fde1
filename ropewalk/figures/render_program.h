#pragma once

#include <string_view>

namespace ropewalk {

// The text of render_program.py.
extern const std::string_view kRenderProgram;

// The Python interpreter that the program was configured with.
extern const std::string_view kBuildPython;

}  // namespace ropewalk
