#pragma once

#include <set>
#include <string>

#include "ropewalk/study/run/measure.h"

namespace ropewalk {

// Makes tables, figures, report and manifest of what was measured, each where it is not up to date.
// `manifest` is the former run's, or null. A capture whose bytes turn out to be wrong is discarded
// and joins `again`; false: then it must be measured again. Throws InputError where it was in
// `again` already, SystemError where it cannot be removed. One that cannot be analysed for another
// reason is left as it is: an InputError names it or, where the study is to keep going, it becomes
// a failure of `measured`, and the results are of the others.
bool write_results(const Study& study, MeasuredStudy& measured, const Json& manifest,
                   std::set<std::string>& again);

// The headline numbers in a table, and where the rest is.
std::string result_text(const Study& study);

}  // namespace ropewalk
