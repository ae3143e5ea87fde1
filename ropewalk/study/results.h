#pragma once

#include "ropewalk/study/measure.h"

namespace ropewalk {

// Makes tables, figures, report and manifest of what was measured, each where it is not up to date.
// `manifest` is the former run's, or null. Where a capture turns out to be damaged, it is named and
// left out; false: then it must be measured again.
bool write_results(const Study& study, const Measured& measured, const Json& manifest);

// The headline numbers in a table, and where the rest is.
std::string result_text(const Study& study);

}  // namespace ropewalk
