#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "ropewalk/kernels/moments/lags.h"

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

  // Distances between tokens over which logits are averaged; none where the context is unknown.
  // Below, means over the pairs of tokens whose distance lies in a window, by case, or one row for
  // all cases where they have the same.
  std::vector<DistanceWindow> windows;
  at::Tensor cosines;  // of theta times distance, [replicates, pairs, windows]; scaling included
  at::Tensor sines;
  at::Tensor scaling;    // [replicates, windows]: what scales queries by position
  at::Tensor distances;  // [replicates, windows]

  int64_t span = 0;          // distances that preferences are taken over: those below it
  at::Tensor every_scaling;  // [span]: what scales queries at each; undefined: nothing does

  int64_t pairs() const { return theta.size(0); }
  // Whether all distances have the same logit of a mean query and key, but for a bias of distance.
  bool constant() const { return !turns && !every_scaling.defined(); }
};

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

// Actual logits by distance, without the softmax scale and any bias of distance: [replicates,
// windows].
struct LagReplicates {
  at::Tensor sum;
  at::Tensor count;
  bool single = false;  // at single distances, as captures of earlier versions have them

  at::Tensor mean() const { return sum / count; }  // NaN where there is no pair
};

// What is known of a head beside its moments after RoPE. Null: not measured, or not kept.
struct RopeReplicates {
  std::shared_ptr<const RopeLayer> layer;
  std::shared_ptr<const PreRopeReplicates> queries;
  std::shared_ptr<const PreRopeReplicates> keys;
  std::shared_ptr<const LagReplicates> lags;
  double slope = 0;  // what a logit loses per token of distance (ALiBi)

  bool has_sums() const { return queries && keys; }
};

}  // namespace ropewalk
