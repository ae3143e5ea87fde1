#pragma once

#include <optional>
#include <set>
#include <string>

#include "ropewalk/moments/files/moments_state.h"
#include "ropewalk/study/run/study.h"

namespace ropewalk {

// A checkpoint of a study, compared with captures. Weights are read only where everything else
// agrees, and once.
class CaptureMatcher {
 public:
  CaptureMatcher(const Study& study, const PlannedCheckpoint& planned);

  const PlannedCheckpoint& planned() const { return planned_; }
  // As a capture of it will describe itself, without the weights' digest.
  const CaptureInfo& info() const { return info_; }

  // Measured in the same way, on whatever documents and whatever it keeps beside second moments.
  bool same_measure(const CaptureInfo& other);
  // What the experiment asks for and the other lacks, or has of other numerics: what its file names
  // and what has no switch. What it would keep by default is no reason to measure again.
  std::set<std::string> missing(const CaptureInfo& other) const;
  bool same_documents(const CaptureInfo& other) const;
  // Whether another one read just the first of these documents, and not all.
  bool begins_with(const CaptureInfo& other) const;
  // Why the rest of the documents cannot be added to a capture; empty where they can.
  std::string why_not_extended() const;
  // Whether an interrupted capture can go on: it read documents one after another, the first of
  // them after `before` others.
  bool can_resume(const StateInfo& state, int64_t before);

  // In words; empty: there is no difference.
  std::string difference(const CaptureInfo& other);

 private:
  // `model`: none of captured vectors.
  CaptureMatcher(const Study& study, const PlannedCheckpoint& planned,
                 const std::optional<OpenModel>& model);
  bool same_weights(const CaptureInfo& other);

  const PlannedCheckpoint& planned_;
  const std::set<std::string>& named_;  // of the experiment
  bool chunked_;
  const DocumentSet& documents_;
  CaptureInfo info_;
  Json identity_;
  std::optional<std::string> digest_;
  std::optional<std::string> stated_;
};

}  // namespace ropewalk
