#pragma once

#include "ropewalk/moments/accumulators/accumulator.h"

namespace ropewalk {

// The sum of a tap's vectors, the largest square of each head, and the tokens of all documents.
class MadeUpAccumulator : public Accumulator {
 public:
  explicit MadeUpAccumulator(Tap tap) : tap_(std::move(tap)) {}

  std::string name() const override { return "made_up"; }
  int64_t numerics() const override { return 1; }
  std::vector<Tap> taps(const CaptureShape&) const override { return {tap_}; }
  std::vector<KeptField> fields(const CaptureShape& shape) const override {
    return {{"sum", StreamKind::key, shape.head_dim, true},
            {"largest", StreamKind::key, 1},
            {"all", StreamKind::key, 2, true, false}};
  }
  void add(const TappedVectors& taken, const BlockTarget& to) const override {
    const at::Tensor heads = at::tensor(to.streams.kv_heads, at::kLong);
    const at::Tensor x = taken[tap_.vectors].index_select(0, heads).to(at::kDouble);
    to.block.numbers[0].add_(x.sum(1));
    const at::Tensor square = x.square().amax({1, 2}).unsqueeze(1);
    to.block.numbers[1].copy_(at::maximum(to.block.numbers[1], square));
    to.block.numbers[2].add_(x.size(1));
  }
  void combine(const BlockFields& whole, const BlockFields& part) const override {
    whole.numbers[0].add_(part.numbers[0]);
    whole.numbers[1].copy_(at::maximum(whole.numbers[1], part.numbers[1].to(at::kDouble)));
    whole.numbers[2].add_(part.numbers[2]);
  }
  int64_t workspace(const ModelConfig&, int64_t, at::ScalarType, const at::Device&) const override {
    return 12345;
  }

 private:
  Tap tap_;
};

}  // namespace ropewalk
