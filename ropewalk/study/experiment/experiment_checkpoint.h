#pragma once

#include <map>
#include <string>

#include "ropewalk/study/experiment/experiment.h"

namespace ropewalk {

class YamlValue;

// A label: it names folders. A subfolder: names of folders, one inside another.
std::string read_label(const YamlValue& value);
std::string read_subfolder(const YamlValue& value);

// Reads one of a phase's checkpoints.
CheckpointEntry read_checkpoint(const YamlValue& value);

// Checkpoints with weights read text, and captured vectors have read theirs: an experiment has a
// corpus and what goes with it, or vectors alone. `lines` are those of the keys at the top of the
// file; 0: not there.
void check_text(const Experiment& experiment, const std::map<std::string, int>& lines);

}  // namespace ropewalk
