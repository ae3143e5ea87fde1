#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ropewalk/analysis/document_lengths.h"
#include "ropewalk/analysis/rope_cases.h"
#include "ropewalk/model/described_rope.h"
#include "ropewalk/moments/capture_moments.h"

namespace ropewalk {

// Distances of RopeLayer, for a layer whose angles and context are known: the lags of captures, and
// what near and far distances need. `scaling`: mean of what scales queries at each distance; empty:
// nothing does.
void set_distances(RopeLayer& layer, const std::vector<double>& scaling = {});

// How a layer turns, without its turns: `rope` null is a model without RoPE.
RopeLayer rope_layer(const RopeSettings* rope, bool turns, int64_t head_dim, int64_t tokens);

// What a capture knows of RoPE, for the analysis of its heads; blocks that hold documents are
// listed. It outlives the moments' use.
class RopeSource {
 public:
  // Throws InputError naming `source` where the capture's description is not right.
  RopeSource(const CaptureMoments& moments, const std::set<int64_t>& nope_layers,
             const std::vector<int64_t>& blocks, const std::string& source);

  // Null: its settings are not known, or vectors were taken before RoPE.
  std::shared_ptr<const RopeLayer> layer(int64_t layer) const;
  // Of a row of the moments' streams; null: not kept.
  std::shared_ptr<const PreRopeCases> sums(StreamKind kind, int64_t row) const;
  std::shared_ptr<const LagCases> lags(int64_t row) const;

 private:
  std::shared_ptr<const RopeLayer> make_layer(const DescribedRope& described, int64_t layer,
                                              bool turns) const;
  at::Tensor cases(const Accumulated& kept, const char* field, StreamKind kind, int64_t row) const;

  const CaptureMoments& moments_;
  CaptureShape shape_;
  std::vector<int64_t> blocks_;
  at::Tensor rows_;    // [blocks] int64
  at::Tensor tokens_;  // [cases]
  std::optional<DocumentLengths> lengths_;
  const Accumulated* pre_rope_ = nullptr;
  const Accumulated* lags_ = nullptr;
  std::map<int64_t, std::shared_ptr<const RopeLayer>> layers_;
};

}  // namespace ropewalk
