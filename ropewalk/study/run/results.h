#pragma once

#include <set>
#include <string>

#include "ropewalk/study/run/measure.h"

namespace ropewalk {

// Makes tables, figures, report and manifest from what was measured, each only where it is not up
// to date. `manifest` is the former run's, or null. A capture whose bytes are wrong is discarded
// and added to `again`, and false is returned: its checkpoint must be measured again. Throws
// InputError where the capture was already in `again`, and SystemError where it cannot be removed.
// A capture that cannot be analysed for another reason is not changed: an InputError names it; or
// where the study is to keep going, it becomes a failure of `measured`, and the results are those
// of the others.
bool write_results(const Study& study, MeasuredStudy& measured, const Json& manifest,
                   std::set<std::string>& again);

// The most important numbers in a table, and where to find the others.
std::string result_text(const Study& study);

}  // namespace ropewalk
