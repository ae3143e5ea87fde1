#pragma once

#include <optional>
#include <set>
#include <string>

#include "ropewalk/moments/files/moments_state.h"
#include "ropewalk/study/run/study.h"

namespace ropewalk {

// Compares a checkpoint of a study with captures. Weights are read only where everything else
// agrees, and only once.
class CaptureMatcher {
 public:
  CaptureMatcher(const Study& study, const PlannedCheckpoint& planned);

  // The same for a capture of other documents, with this description.
  CaptureMatcher(const PlannedCheckpoint& planned, const DocumentSet& documents, CaptureInfo info);

  const PlannedCheckpoint& planned() const { return planned_; }
  // The description that a capture of it would have, without the weights' digest.
  const CaptureInfo& info() const { return info_; }

  // Whether the capture was measured in the same way, whatever its documents and its accumulators
  // besides second moments.
  bool same_measure(const CaptureInfo& other);
  // The accumulators that the experiment requests and the capture lacks, or has from another
  // version: those that the file names, and those without a switch. Accumulators that are kept by
  // default only are no reason to measure again.
  std::set<std::string> missing(const CaptureInfo& other) const;
  bool same_documents(const CaptureInfo& other) const;
  // Whether the capture read the first of these documents, but not all.
  bool begins_with(const CaptureInfo& other) const;
  // The reason why the other documents cannot be added to a capture; empty where they can.
  std::string why_not_extended() const;
  // Whether an interrupted capture can resume: it read consecutive documents, the first of them
  // after `before` others.
  bool can_resume(const StateInfo& state, int64_t before);

  // The difference in words; empty where there is none.
  std::string difference(const CaptureInfo& other);

 private:
  // `model`: null for captured vectors.
  CaptureMatcher(const Study& study, const PlannedCheckpoint& planned,
                 const std::optional<OpenModel>& model);
  bool same_weights(const CaptureInfo& other);

  const PlannedCheckpoint& planned_;
  std::set<std::string> named_;  // accumulators that the experiment names
  bool chunked_;
  const DocumentSet& documents_;
  CaptureInfo info_;
  Json identity_;
  std::optional<std::string> digest_;
  std::optional<std::string> stated_;
};

}  // namespace ropewalk
