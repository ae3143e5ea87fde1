#pragma once

#include "ropewalk/analysis/replicates/rope_replicates.h"

namespace ropewalk {

// The product of a mean query and a mean key before RoPE, by case, in parts. After RoPE their
// product depends on the distance between them alone, and these parts give it at every distance.
struct CentreProduct {
  // [replicates, pairs]: the query's pair times the conjugate of the key's
  at::Tensor real;
  at::Tensor imaginary;
  at::Tensor rest;  // [replicates]: the product of the dimensions that are in no pair
};

// Of means [replicates, d]; how a layer's pairs lie.
CentreProduct centre_product(const RopeLayer& layer, const at::Tensor& query,
                             const at::Tensor& key);

// The product at every distance below `end`, of pairs that turn by `theta` [pairs] per token and
// are multiplied by `factor` each: [replicates, end] float64.
at::Tensor product_by_distance(const CentreProduct& product, const at::Tensor& theta, double factor,
                               int64_t end);

}  // namespace ropewalk
