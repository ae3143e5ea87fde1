#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ropewalk/analysis/analyze/capture_facts.h"
#include "ropewalk/analysis/forecast/forecast.h"
#include "ropewalk/analysis/replicates/centre_product.h"
#include "ropewalk/analysis/replicates/kept_parts.h"

namespace ropewalk {

// The logits of a capture's mean queries and keys before RoPE, by distance, under any RoPE setting.
// The capture and its facts must outlive this object.
class CentreLogits {
 public:
  // Throws UsageError where no captured head turns, and InputError where the capture lacks its sums
  // before RoPE or does not describe its model.
  CentreLogits(const CaptureMoments& capture, const CaptureFacts& facts, std::string source,
               const RopeLengths& lengths);

  // The heads that turn.
  const std::vector<ForecastHead>& heads() const { return heads_; }
  // Tokens of the blocks that errors are over; empty: the capture has no such blocks.
  const std::vector<double>& block_tokens() const { return block_tokens_; }
  // Whether the model's own angles depend on the length of a document: those of the capture's
  // documents are taken.
  bool by_length() const;

  // How the layers of each set of RoPE settings turn (DescribedRope::ropes). Throws UsageError or
  // InputError where the model cannot have the setting.
  using Setting = std::vector<RopeLayer>;
  Setting setting(const RopeSpec& spec) const;

  // A head under the model's own setting.
  struct Head {
    size_t rope = 0;  // index of its layer's settings
    CentreProduct product;
    double scale = 1;     // of the softmax
    int64_t trained = 0;  // distances that the model was trained with and its layer sees
    at::Tensor own;       // [1 + blocks, distances] float64
  };
  // Throws InputError where no token follows the first ones.
  Head head(const ForecastHead& head) const;
  // The head's logits under a setting: [1 + blocks, distances] float64; its own where the setting
  // does not change its layer.
  at::Tensor under(const Setting& setting, const Head& head) const;

 private:
  void find_heads();
  at::Tensor centre(StreamKind kind, int64_t layer, int64_t head) const;
  at::Tensor logits(const RopeLayer& layer, const Head& head, int64_t distances) const;

  const CaptureMoments& capture_;
  const CaptureFacts& facts_;
  std::string source_;
  RopeLengths lengths_;
  int64_t captured_ = 0;         // tokens of the capture's longest document
  std::vector<int64_t> blocks_;  // that errors are over
  std::vector<double> block_tokens_;
  std::unique_ptr<KeptParts> sums_;
  StreamSet queries_, keys_;
  std::vector<ForecastHead> heads_;
  Setting own_;
  at::Tensor query_scaling_;  // [context]: what scales queries at each distance; undefined: nothing
};

}  // namespace ropewalk
