#pragma once

#include <map>
#include <optional>
#include <string>

#include "ropewalk/analysis/ablation/edit_name.h"
#include "ropewalk/analysis/analyze/capture_facts.h"
#include "ropewalk/analysis/replicates/kept_parts.h"
#include "ropewalk/analysis/replicates/rope_source.h"
#include "ropewalk/model/config/described_rope.h"
#include "ropewalk/model/edit.h"

namespace ropewalk {

// Builds edits of heads from the preferences of distance, slopes and axes that a capture measured.
// The capture must outlive this object.
class EditSource {
 public:
  // `source` names the capture in errors. Throws InputError where the capture's description is
  // invalid.
  EditSource(const CaptureMoments& capture, const CaptureFacts& facts, std::string source);

  // Throws InputError where the capture lacks the data for this edit, and UsageError where the edit
  // has no meaning for the layers of these heads.
  Edit make(const EditName& edit, const HeadSet& heads, int64_t tokens) const;

  // Throws InputError where the capture lacks the data for this edit, whatever the heads.
  void require(const EditName& edit) const;

  // The logit that the mean query and the mean key of a head, plus the model's own distance bias,
  // give at every distance below `tokens`: float64. It is 0 everywhere where nothing depends on
  // distance.
  const at::Tensor& distance_logits(const LayerHead& head, int64_t tokens) const;

 private:
  struct Stream {
    at::Tensor mean;   // [d_head] float64
    at::Tensor drift;  // [d_head] float64: covariance with position
    double position_variance = 0;
    double tokens = 0;
  };
  int64_t row_of(StreamKind kind, const LayerHead& head) const;
  Stream stream(StreamKind kind, const LayerHead& head) const;
  LayerHead kv_head(const LayerHead& head) const {
    return {head.layer, head.head / facts_.group()};
  }
  at::Tensor centre(StreamKind kind, const LayerHead& head) const;
  const RopeLayer& layer(int64_t layer, int64_t tokens) const;
  at::Tensor turning_logits(const LayerHead& head, int64_t tokens) const;
  DistanceBias distance(const EditName& edit, const HeadSet& heads, int64_t tokens) const;
  FlattenedDrift flatten(const EditName& edit, const HeadSet& heads) const;
  RemovedAxis axis(const HeadSet& heads) const;

  const CaptureMoments& capture_;
  const CaptureFacts& facts_;
  std::string source_;
  std::optional<DescribedRope> described_;
  StreamSet queries_, keys_;
  const std::vector<int64_t> no_blocks_;  // empty: only the whole sample is computed
  std::unique_ptr<KeptParts> sums_;       // sums before RoPE; null: the capture has none
  // One entry per kind of RoPE layer; null: the model has no RoPE.
  mutable std::map<std::pair<const RopeSettings*, bool>, RopeLayer> layers_;
  mutable std::map<LayerHead, at::Tensor> logits_;
};

}  // namespace ropewalk
