#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ropewalk/study/capture/capture_store.h"
#include "ropewalk/study/capture/probes.h"
#include "ropewalk/study/run/study.h"

namespace ropewalk {

// The second captures of a study with `probes`, OUT/probes/LABEL: what heads attend to in synthetic
// documents. Without the key, no checkpoint lacks one and none has one. The study must outlive this
// object.
class ProbeCaptures {
 public:
  explicit ProbeCaptures(const Study& study);

  // Finds finished captures that fit, whatever their labels. For the first process.
  void find();
  // Whether probes fit into the checkpoint's context, and no capture of them was found or measured.
  bool lacks(const PlannedCheckpoint& planned) const;
  // Gives a capture that was found its label, if it has another.
  void adopt(const PlannedCheckpoint& planned);
  // Measures the probes with a checkpoint that is open. Collective.
  void measure(const PlannedCheckpoint& planned, const OpenModel& model);

  // The finished capture of a checkpoint; empty where it has none. Any thread may call it.
  struct Finished {
    std::filesystem::path folder;
    CaptureInfo info;
  };
  std::optional<Finished> finished(const PlannedCheckpoint& planned) const;
  std::string hash_of(const PlannedCheckpoint& planned) const;  // of its numbers; empty: none

  // The probes that a checkpoint of this context reads.
  const ProbeSet& probes(size_t text, int64_t context) const;
  // Finished captures that belong to no checkpoint; and the function that removes them.
  std::vector<std::filesystem::path> unused() const;
  void prune();

 private:
  // The checkpoint's capture of probes, and whether it was found.
  struct ProbePlan {
    PlannedCheckpoint planned;
    int64_t context = 0;
    StoredCapture* stored = nullptr;
  };
  void find(ProbePlan& plan);
  size_t index_of(const PlannedCheckpoint& planned) const;

  const Study& study_;
  std::optional<CaptureStore> store_;  // in the first process
  std::vector<ProbePlan> plans_;       // by checkpoint; empty without `probes`
  mutable std::map<std::pair<size_t, int64_t>, ProbeSet> sets_;  // by text and context
  mutable std::mutex mutex_;
  std::map<size_t, Finished> finished_;  // by checkpoint
};

// The lines of probes.jsonl.
std::string study_probes(const Study& study);

// Describes in words, for a dry run, what is measured of probes; empty without the key. `lacking`:
// how many checkpoints lack them.
std::string describe_study_probes(const Study& study, int64_t lacking);

}  // namespace ropewalk
