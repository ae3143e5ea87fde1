#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "ropewalk/kernels/torch.h"

namespace ropewalk {

// What turns queries and keys in a layer, and how far their tokens were turned; shared by the heads
// of all layers that turn alike. Tensors are float64 unless it says otherwise.
struct RopeLayer {
  bool turns = true;       // false: a NoPE layer; its pairs are as if it turned
  at::Tensor theta;        // [pairs]: radians per token; 0 on NoPE layers
  at::Tensor first;        // [pairs] int64: dimensions of each pair
  at::Tensor second;       // likewise
  at::Tensor rest;         // int64: dimensions in no pair
  double factor = 1;       // of queries and of keys, beside turning (YaRN, long RoPE)
  bool by_length = false;  // documents of other lengths turn by other angles than these
  double context = 0;      // tokens per document at most; NaN: unknown

  // What a mean that turns with position has for its covariance with t, over its length: the mean
  // over tokens of (t - mean t) e^(i theta t), of queries times what scales them at t. [replicates,
  // pairs + 1], the last of dimensions that do not turn. Undefined: lengths are unknown.
  struct TurnCovariance {
    at::Tensor real;
    at::Tensor imaginary;
  };
  TurnCovariance queries;
  TurnCovariance keys;

  // Distances between tokens at which logits are taken; none where the context is unknown.
  std::vector<int64_t> lags;
  at::Tensor cosines;  // of theta times lag, [pairs, lags]; queries' scaling included, as below
  at::Tensor sines;
  at::Tensor scaling;  // [lags]: mean of what scales queries by position, at each lag
  // The mean over all distances up to kNearDistance less that over those from a quarter of the
  // context on, of the same: [pairs] each, and for what does not turn.
  at::Tensor near_cosines;
  at::Tensor near_sines;
  double near_scaling = 0;

  int64_t pairs() const { return theta.size(0); }
};
inline constexpr int64_t kNearDistance = 16;

// Sums of a stream before RoPE for the whole sample (row 0) and without each block (rows 1 …):
// of tokens from kFirstTokens on, and of those before it (moments/accumulators/pre_rope.h).
struct PreRopeReplicates {
  at::Tensor late_tokens;    // [replicates]
  at::Tensor first_tokens;   // [replicates]
  at::Tensor sum;            // [replicates, d], of late tokens
  at::Tensor squares;        // [replicates, d]
  at::Tensor moduli;         // [replicates, d / 2]; of the layer's pairs, then 0
  at::Tensor first_sum;      // [replicates, d]
  at::Tensor first_squares;  // [replicates, d]

  at::Tensor centre() const { return sum / late_tokens.unsqueeze(1); }  // mean of late tokens
  at::Tensor tokens() const { return late_tokens + first_tokens; }
};

// Actual logits by distance, without the softmax scale: [replicates, lags].
struct LagReplicates {
  at::Tensor sum;
  at::Tensor count;

  at::Tensor mean() const { return sum / count; }  // NaN where there is no pair
};

// What is known of a head beside its moments after RoPE. Null: not measured, or not kept.
struct RopeReplicates {
  std::shared_ptr<const RopeLayer> layer;
  std::shared_ptr<const PreRopeReplicates> queries;
  std::shared_ptr<const PreRopeReplicates> keys;
  std::shared_ptr<const LagReplicates> lags;

  bool has_sums() const { return queries && keys; }
};

}  // namespace ropewalk
