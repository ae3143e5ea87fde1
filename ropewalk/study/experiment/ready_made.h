#pragma once

#include <filesystem>
#include <string>

namespace ropewalk {

// The ready-made experiment of this name, such as `pythia-160m`: from $ROPEWALK_EXPERIMENTS where
// it is set, as the Python package does, else from the repository. Throws InputError about an
// unknown name, with a list of the known ones.
std::filesystem::path ready_made_experiment(const std::string& name);

// The file of an experiment. A word without folder and extension that is not an existing file is
// the name of a ready-made experiment.
std::filesystem::path find_experiment(const std::filesystem::path& asked);

}  // namespace ropewalk
