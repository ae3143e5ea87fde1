#pragma once

#include "ropewalk/analysis/replicates/head_replicates.h"
#include "ropewalk/analysis/replicates/rope_replicates.h"

namespace ropewalk {

// A head's queries or keys by rotary pair (docs/method.md). A tensor is undefined where the capture
// did not keep the sums that it needs.
struct Bands {
  at::Tensor energy;    // [replicates, pairs]: mean of |z|² as attention sees it
  at::Tensor rope_var;  // [replicates, pairs]: share of the variance that the rotation adds
  at::Tensor mrl;       // [replicates, pairs]: |mean z| / mean |z| before RoPE, over tokens t >= 4
  // The same summed up over pairs: [replicates] each.
  at::Tensor centroid;  // energy-weighted mean of log2 of the wavelength
  // share of the energy in pairs that do not complete one turn in the context
  at::Tensor low_share;
  at::Tensor rope_var_share;  // rope_var of all pairs together
  at::Tensor mean_mrl;        // energy-weighted mean of mrl
};

// The bands of a head whose rope->layer is known; computed once per stream.
const Bands& query_bands(const HeadReplicates& head);
const Bands& key_bands(const HeadReplicates& head);

}  // namespace ropewalk
