#pragma once

#include "ropewalk/analysis/replicates/head_replicates.h"
#include "ropewalk/analysis/replicates/rope_replicates.h"

namespace ropewalk {

// A head's queries or keys by rotary pair (docs/method.md). Undefined tensors: what they need was
// not kept.
struct Bands {
  at::Tensor energy;    // [replicates, pairs]: mean of |z|² as attention sees it
  at::Tensor rope_var;  // [replicates, pairs]: share of the variance that turning made
  at::Tensor mrl;       // [replicates, pairs]: |mean z| / mean |z| before RoPE, of tokens t >= 4
  // Over pairs: [replicates] each.
  at::Tensor centroid;        // energy-weighted mean of log2 of the wavelength
  at::Tensor low_share;       // of the energy in pairs that do not turn once in the context
  at::Tensor rope_var_share;  // the same of all pairs together
  at::Tensor mean_mrl;        // energy-weighted
};

// Of a head whose rope->layer is known; computed once per stream.
const Bands& query_bands(const HeadReplicates& head);
const Bands& key_bands(const HeadReplicates& head);

}  // namespace ropewalk
