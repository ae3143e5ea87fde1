#pragma once

#include <map>
#include <string>

#include "ropewalk/study/experiment/experiment.h"

namespace ropewalk {

class YamlValue;

// Reads a label, which must be usable as a folder's name; and a subfolder, which may be several
// folders deep.
std::string read_label(const YamlValue& value);
std::string read_subfolder(const YamlValue& value);

// Reads one checkpoint of a phase.
CheckpointEntry read_checkpoint(const YamlValue& value);

// Checks that an experiment has either a corpus with its keys, or vectors only: checkpoints with
// weights read text, and captured vectors already did. `lines` are the lines of the keys at the top
// of the file; 0: the key is missing.
void check_text(const Experiment& experiment, const std::map<std::string, int>& lines);

}  // namespace ropewalk
