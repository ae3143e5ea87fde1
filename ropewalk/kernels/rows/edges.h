#pragma once

#include "ropewalk/kernels/rows/row_columns.h"
#include "ropewalk/kernels/torch.h"

namespace ropewalk {

// Edges of heads, what each head links most strongly: numbers [heads, n, EdgeNumber::count] and
// what goes with each, [heads, n, …].
struct Edges {
  at::Tensor numbers;
  at::Tensor tokens;
};

// The strongest kEdges of all of them, in their order: by p, then by document, t and key.
Edges strongest_edges(const Edges& some, const Edges& others);

}  // namespace ropewalk
