#include "ropewalk/analysis/analyze/analyze_edges.h"

#include "ropewalk/analysis/replicates/rows.h"
#include "ropewalk/moments/accumulators/rows.h"

namespace ropewalk {
namespace {

// One of an edge's tokens, at a position, of ids plus 1.
EdgeToken token_of(double position, const double* ids) {
  EdgeToken token;
  token.position = static_cast<int64_t>(position);
  for (int64_t i = 0; i < kEdgeTokens; ++i) {
    token.around.push_back(static_cast<int64_t>(ids[i]) - 1);
  }
  token.id = token.around[kEdgeTokensAround];
  return token;
}

}  // namespace

void add_edges(CheckpointTable& checkpoint, const HeadId& id, const HeadReplicates& head) {
  const auto rows = row_replicates(head);
  if (!rows) return;
  for (int64_t i = 0; i < kEdges; ++i) {
    const double* const numbers =
        rows->edges.const_data_ptr<double>() + i * static_cast<int64_t>(EdgeNumber::count);
    const double* const ids = rows->edge_tokens.const_data_ptr<double>() + i * 2 * kEdgeTokens;
    if (!(numbers[EdgeNumber::p] > 0)) continue;
    EdgeRow edge;
    edge.layer = id.layer;
    edge.q_head = id.q_head;
    edge.kv_head = id.kv_head;
    edge.rope = id.rope ? (*id.rope ? 1 : 0) : CheckpointTable::kUnknown;
    edge.document = static_cast<int64_t>(numbers[EdgeNumber::document]);
    edge.query = token_of(numbers[EdgeNumber::t], ids);
    edge.key = token_of(numbers[EdgeNumber::key], ids + kEdgeTokens);
    edge.p = numbers[EdgeNumber::p];
    checkpoint.edges.push_back(std::move(edge));
  }
}

}  // namespace ropewalk
