// Replaces report_template.cpp where the program is built without Node.
#include "ropewalk/study/show/report_template.h"

namespace ropewalk {

std::string_view report_template() { return {}; }

}  // namespace ropewalk
