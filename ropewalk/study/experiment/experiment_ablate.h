#pragma once

#include "ropewalk/study/experiment/experiment.h"

namespace ropewalk {

class YamlValue;

// Reads the key `ablate` of an experiment.
void read_ablate(const YamlValue& value, Experiment& experiment);

// Checks that other keys give what it needs. Throws InputError with its line.
void check_ablate(const Experiment& experiment);

}  // namespace ropewalk
