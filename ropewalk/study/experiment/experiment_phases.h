#pragma once

#include <map>
#include <string>

#include "ropewalk/study/experiment/experiment.h"

namespace ropewalk {

class YamlValue;

// Reads the phases of a run, or the models of a comparison, each into a phase of its own.
void read_phases(const YamlValue& value, Experiment& experiment);
void read_models(const YamlValue& value, Experiment& experiment);

// Checks that an experiment has either phases or models, and with models no key about a run.
// `lines` are the lines of the keys at the top of the file; 0: the key is missing.
void check_phases(const Experiment& experiment, const std::map<std::string, int>& lines);

}  // namespace ropewalk
