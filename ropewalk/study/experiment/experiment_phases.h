#pragma once

#include <map>
#include <string>

#include "ropewalk/study/experiment/experiment.h"

namespace ropewalk {

class YamlValue;

// Reads the phases of a run, or the models of a study of several, each into a phase of its own.
void read_phases(const YamlValue& value, Experiment& experiment);
void read_models(const YamlValue& value, Experiment& experiment);

// An experiment has phases or models, and with models no key that speaks of a run. `lines` are
// those of the keys at the top of the file; 0: not there.
void check_phases(const Experiment& experiment, const std::map<std::string, int>& lines);

}  // namespace ropewalk
