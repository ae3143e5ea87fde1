#pragma once

#include "ropewalk/analysis/cases/head_cases.h"
#include "ropewalk/analysis/cases/rope_cases.h"

namespace ropewalk {

// A head's queries or keys by rotary pair (docs/method.md). Undefined tensors: what they need was
// not kept.
struct Bands {
  at::Tensor energy;    // [cases, pairs]: mean of |z|² as attention sees it
  at::Tensor rope_var;  // [cases, pairs]: share of the variance that turning made
  at::Tensor mrl;       // [cases, pairs]: |mean z| / mean |z| before RoPE, of tokens t >= 4
  // Over pairs: [cases] each.
  at::Tensor centroid;        // energy-weighted mean of log2 of the wavelength
  at::Tensor low_share;       // of the energy in pairs that do not turn once in the context
  at::Tensor rope_var_share;  // the same of all pairs together
  at::Tensor mean_mrl;        // energy-weighted
};

// Of a head whose rope->layer is known; computed once per stream.
const Bands& query_bands(const HeadCases& head);
const Bands& key_bands(const HeadCases& head);

}  // namespace ropewalk
