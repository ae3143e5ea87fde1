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

namespace ropewalk {

// Analyses of the checkpoints of a study, made on a thread of their own while others are measured.
// The study must outlive it.
class Analyses {
 public:
  explicit Analyses(const Study& study) : study_(study) {}

  // Begins with a checkpoint whose capture is in memory and about to be written, unless others are
  // under way (until its turn came, it would stay there) or the study's memory does not hold it
  // beside what is analysed.
  void start(const PlannedCheckpoint& planned, std::shared_ptr<const MeasuredCapture> capture);
  // Begins with a checkpoint whose capture is written, once those before it are done; not twice.
  // From any thread.
  void start(const MeasuredCheckpoint& measured);
  // Bytes that those that are begun take at once; and waits for them.
  int64_t bytes();
  void wait();
  // The analysis of a checkpoint, made now where it was not begun. Throws InputError where its
  // moments are not those that were written.
  CheckpointTable take(const MeasuredCheckpoint& measured);

 private:
  struct PendingAnalysis {
    std::future<CheckpointTable> analysis;
    int64_t bytes = 0;  // of memory
    bool done() const;
  };
  CheckpointTable make(const MeasuredCheckpoint& measured, const AnalysisMemory& memory) const;
  CheckpointTable make(CaptureMoments moments, const std::filesystem::path& file,
                       const AnalysisMemory& memory) const;

  const Study& study_;
  std::mutex mutex_;
  // By the hash of moments and the label: a capture that was replaced meanwhile has another. What
  // is not written yet has none.
  std::map<std::pair<std::string, std::string>, PendingAnalysis> begun_;
  Worker worker_{/*aside=*/true};  // ends first
};

}  // namespace ropewalk
