#pragma once

#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "ropewalk/analysis/table/qk_table.h"
#include "ropewalk/base/processes/worker.h"
#include "ropewalk/study/capture/capture.h"
#include "ropewalk/study/run/analysis_memory.h"
#include "ropewalk/study/run/manifest.h"
#include "ropewalk/study/run/probe_captures.h"

namespace ropewalk {

// Analyses the checkpoints of a study on a thread of its own, while other checkpoints are measured.
// Probes must be measured before. The study must outlive this object.
class Analyses {
 public:
  Analyses(const Study& study, std::shared_ptr<const ProbeCaptures> probes)
      : study_(study), probes_(std::move(probes)) {}

  // Starts to analyse a checkpoint whose capture is still in memory and about to be written. Does
  // nothing where other analyses are waiting, because the capture would stay in memory until its
  // turn, or where the study's memory has no room for it.
  void start(const PlannedCheckpoint& planned, std::shared_ptr<const MeasuredCapture> capture);
  // Starts to analyse a checkpoint whose capture is written, after those before it; does nothing
  // where it was already started. May be called by any thread.
  void start(const MeasuredCheckpoint& measured);
  // The bytes that started analyses need at the same time; and a function that waits for them.
  int64_t bytes();
  void wait();
  // The analysis of a checkpoint; it is computed now where it was not started. Throws InputError
  // where the moments are not those that were written.
  CheckpointTable take(const MeasuredCheckpoint& measured);

 private:
  struct PendingAnalysis {
    std::future<CheckpointTable> analysis;
    int64_t bytes = 0;  // of memory
    bool done() const;
  };
  CheckpointTable make(const MeasuredCheckpoint& measured, const AnalysisMemory& memory) const;
  CheckpointTable make(CaptureMoments moments, const PlannedCheckpoint& planned,
                       const std::filesystem::path& file, const AnalysisMemory& memory) const;

  const Study& study_;
  std::shared_ptr<const ProbeCaptures> probes_;
  std::mutex mutex_;
  // The key is the hash of the moments and the label: a capture that was replaced meanwhile has
  // another hash. A capture that is not written yet has no entry.
  std::map<std::pair<std::string, std::string>, PendingAnalysis> begun_;
  Worker worker_{/*aside=*/true};  // must be destroyed first
};

}  // namespace ropewalk
