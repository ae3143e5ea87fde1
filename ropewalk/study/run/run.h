#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ropewalk/base/processes/communicator.h"

namespace ropewalk {

struct RunOptions {
  std::filesystem::path experiment;
  std::optional<std::filesystem::path> out;  // default: out/ and the experiment file's name
  std::vector<std::string> only;             // labels to measure; empty: all
  std::vector<std::string> formats = {"png", "svg", "pdf"};
  bool evict = false;       // remove a Hub checkpoint's weights from the cache once it is measured
  bool keep_going = false;  // a checkpoint that cannot be measured does not end the run
  bool replace = false;     // take over a results folder of another experiment
  bool prune = false;       // remove captures that nothing refers to any more
  Communicator processes;   // that measure together
};

// Measures every checkpoint of an experiment and writes qk.csv, summary.json, figures/ and
// manifest.json. What a former run finished is kept where nothing it depends on changed.
// Checkpoints that could not be measured are named in an InputError once everything else is
// written. Returns the result in words: a short table and where to look. Of several processes the
// first one returns it; collective.
std::string run_study(const RunOptions& options);

// What run_study would do, in words: what is there, what would be read and computed and why, how
// long that takes about. Writes nothing.
std::string describe_run(const RunOptions& options);

}  // namespace ropewalk
