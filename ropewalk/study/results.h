#pragma once

#include <set>
#include <string>

#include "ropewalk/study/measure.h"

namespace ropewalk {

// Makes tables, figures, report and manifest of what was measured, each where it is not up to date.
// `manifest` is the former run's, or null. A capture that turns out to be damaged is removed and
// joins `again`; false: then it must be measured again. Throws InputError where it was in `again`
// already, SystemError where it cannot be removed.
bool write_results(const Study& study, const Measured& measured, const Json& manifest,
                   std::set<std::string>& again);

// The headline numbers in a table, and where the rest is.
std::string result_text(const Study& study);

}  // namespace ropewalk
