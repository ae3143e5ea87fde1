#include "ropewalk/analysis/table/edges_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "ropewalk/analysis/table/qk_table.h"
#include "ropewalk/base/printable.h"

namespace ropewalk {
namespace {

// "BEFORE,TOKEN,AFTER"
std::string text_fields(const EdgeToken& token) {
  const auto field = [](const std::string& text) {
    return csv_name(printable_excerpt(text, kLongestTokenText));
  };
  return fmt::format("{},{},{}", field(token.before), field(token.text), field(token.after));
}

}  // namespace

std::string format_edges_table(const std::vector<CheckpointTable>& checkpoints) {
  std::string text =
      "model,checkpoint,phase,order,layer,q_head,kv_head,rope,document,t,key,distance,p,query_id,"
      "key_id,query_before,query_text,query_after,key_before,key_text,key_after\n";
  for (const CheckpointTable& one : checkpoints) {
    const std::string first = fmt::format("{},{},{},{}", csv_name(one.model), csv_name(one.label),
                                          csv_name(one.phase), one.order);
    for (const EdgeRow& edge : one.edges) {
      text += fmt::format(
          "{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", first, edge.layer, edge.q_head,
          edge.kv_head, table_count(edge.rope), edge.document, edge.query.position,
          edge.key.position, edge.query.position - edge.key.position, table_number(edge.p),
          edge.query.id, edge.key.id, text_fields(edge.query), text_fields(edge.key));
    }
  }
  return text;
}

bool have_edges(const std::vector<CheckpointTable>& checkpoints) {
  return std::any_of(checkpoints.begin(), checkpoints.end(),
                     [](const CheckpointTable& one) { return !one.edges.empty(); });
}

}  // namespace ropewalk
