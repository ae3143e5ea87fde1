#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ropewalk/base/processes/communicator.h"

namespace ropewalk {

struct RunOptions {
  std::filesystem::path experiment;
  std::optional<std::filesystem::path> out;  // default: out/ with the experiment file's name
  std::vector<std::string> only;             // labels to measure; empty: all
  std::vector<std::string> formats = {"png", "svg", "pdf"};
  bool evict = false;       // remove a Hub checkpoint's weights from the cache once it is measured
  bool keep_going = false;  // a checkpoint that cannot be measured does not end the run
  bool replace = false;     // take over a results folder of another experiment
  bool prune = false;       // remove captures to which nothing refers any more
  Communicator processes;   // processes that measure together
};

// Measures every checkpoint of an experiment and writes qk.csv, summary.json, figures/ and
// manifest.json. Results of a former run are kept where nothing on which they depend has changed.
// Checkpoints that could not be measured are named in an InputError after everything else is
// written. Returns the result in words: a short table, and where to look. With several processes,
// the first one returns it; collective.
std::string run_study(const RunOptions& options);

// Describes in words what run_study would do: what exists, what would be read and computed and why,
// and about how long it takes. Writes nothing.
std::string describe_run(const RunOptions& options);

}  // namespace ropewalk
