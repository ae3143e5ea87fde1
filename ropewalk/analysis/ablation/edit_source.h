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

// What edits of heads are made of: preferences of distance, slopes and axes that a capture
// measured. It must outlive this.
class EditSource {
 public:
  // `source` names the capture in errors. Throws InputError where its description is not right.
  EditSource(const CaptureMoments& capture, const CaptureFacts& facts, std::string source);

  // Throws InputError where the capture does not hold what the edit needs, or UsageError where its
  // heads stand in layers that it means nothing for.
  Edit make(const EditName& edit, const HeadSet& heads, int64_t tokens) const;

  // Throws InputError where the capture cannot give what the edit needs, of any head.
  void require(const EditName& edit) const;

  // The logit that the mean query and key of a head, and the model's own bias of distance, give at
  // every distance below `tokens`: float64. 0 everywhere where nothing depends on distance.
  const at::Tensor& distance_logits(const LayerHead& head, int64_t tokens) const;

 private:
  struct Stream {
    at::Tensor mean;   // [d_head] float64
    at::Tensor drift;  // likewise: covariance with position
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
  const std::vector<int64_t> no_blocks_;  // the whole sample alone
  std::unique_ptr<KeptParts> sums_;       // before RoPE; null: the capture has none
  // Of layers that turn alike; null: of a model without RoPE.
  mutable std::map<std::pair<const RopeSettings*, bool>, RopeLayer> layers_;
  mutable std::map<LayerHead, at::Tensor> logits_;
};

}  // namespace ropewalk
