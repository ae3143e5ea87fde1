#pragma once

#include <cstdint>
#include <vector>

#include "ropewalk/kernels/rows/row_columns.h"
#include "ropewalk/moments/accumulators/accumulator.h"

namespace ropewalk {

struct Document;

// What heads attend to: a few rows of the attention matrix of every document, exact, with the
// layer's own scores (docs/method.md). Fields, of query heads but for the last one:
//   sums      [octaves, RowNumber::count]: sums over rows by octave of their position, from
//             kFirstTokens on
//   attended  [octaves, parts]: the same of attention by distance (distance_parts of the context)
//   largest   [2]: the largest logit of a row, and the longest query of all tokens
//   edges     [kEdges, EdgeNumber::count]: the strongest p, at most kStrongest of a document, by p
//             and, of equal ones, by document and positions; p 0: there is none
//   edge_tokens [kEdges, 2, kEdgeTokens]: ids of the tokens around query and key, plus 1; 0: there
//             is none
//   key.longest [1]: the longest key of all tokens
// `sums` and `attended` add up; the others do not.
const Accumulator& rows();

// Positions of a document's rows, ascending: one in each of as many equal parts of the tokens from
// kFirstTokens on, or all of them. The same for all heads, layers and checkpoints.
std::vector<int64_t> draw_rows(uint64_t prefix_digest, int64_t tokens, const KeepCount& count);

}  // namespace ropewalk
