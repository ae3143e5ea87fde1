#pragma once

#include <filesystem>
#include <string>

namespace ropewalk {

// The ready-made experiment of this name, such as `pythia-160m`: of $ROPEWALK_EXPERIMENTS where
// that is set, which the Python package does, else of the repository. Throws InputError, with the
// names that there are, for another one.
std::filesystem::path ready_made_experiment(const std::string& name);

// The file of an experiment: a word without folder and ending that is no file names a ready-made
// one.
std::filesystem::path find_experiment(const std::filesystem::path& asked);

}  // namespace ropewalk
