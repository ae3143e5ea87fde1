#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ropewalk/analysis/replicates/document_lengths.h"
#include "ropewalk/analysis/replicates/rope_replicates.h"
#include "ropewalk/model/config/described_rope.h"
#include "ropewalk/moments/files/capture_moments.h"

namespace ropewalk {

// How a layer turns, without its turns: `rope` null is a model without RoPE.
RopeLayer rope_layer(const RopeSettings* rope, bool turns, int64_t head_dim, int64_t tokens);

// What a capture knows of RoPE, for the analysis of its heads; blocks that hold documents are
// listed. It outlives the moments' use.
class RopeSource {
 public:
  // Preferences are taken over the distances below `span`, the context and what a layer's attention
  // slides over; 0: the context alone. Throws InputError naming `source` where the capture's
  // description is not right.
  RopeSource(const CaptureMoments& moments, const std::set<int64_t>& nope_layers,
             const std::vector<int64_t>& blocks, const std::string& source, int64_t span);

  // Null: its settings are not known, or vectors were taken before RoPE.
  std::shared_ptr<const RopeLayer> layer(int64_t layer) const;
  // What a logit of a query head loses per token of distance (ALiBi).
  double slope(int64_t q_head) const;

 private:
  std::shared_ptr<const RopeLayer> make_layer(const DescribedRope& described, int64_t layer,
                                              bool turns, std::optional<int64_t> sliding) const;

  const CaptureMoments& moments_;
  int64_t span_ = 0;
  int64_t head_dim_ = 0;
  std::vector<int64_t> blocks_;
  std::optional<DocumentLengths> lengths_;
  std::map<int64_t, std::shared_ptr<const RopeLayer>> layers_;
  std::vector<double> slopes_;  // by query head; empty: none has any
};

}  // namespace ropewalk
