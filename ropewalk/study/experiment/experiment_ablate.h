#pragma once

#include "ropewalk/study/experiment/experiment.h"

namespace ropewalk {

class YamlValue;

// The key `ablate` of an experiment.
void read_ablate(const YamlValue& value, Experiment& experiment);

// What it needs of other keys. Throws InputError with its line.
void check_ablate(const Experiment& experiment);

}  // namespace ropewalk
