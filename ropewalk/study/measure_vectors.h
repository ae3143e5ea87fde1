#pragma once

#include <string>

#include "ropewalk/study/measure.h"

namespace ropewalk {

// The part of measure_study for experiments of captured vectors. A checkpoint whose vectors have a
// capture already is kept; of the others, vectors are fetched, the next ones meanwhile, and their
// moments become a capture like any other.
Measured measure_vectors(const Study& study);

// What that would do, in words.
std::string describe_vectors_run(const Study& study);

}  // namespace ropewalk
