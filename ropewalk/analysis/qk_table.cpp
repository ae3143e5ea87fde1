#include "ropewalk/analysis/qk_table.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "ropewalk/analysis/taxonomy.h"

namespace ropewalk {
namespace {

std::string number(double value) { return std::isnan(value) ? "" : fmt::format("{:.9g}", value); }

// Quoted where the text would break the row.
std::string field(const std::string& name) {
  const std::string text = guard_name(name);
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

// Names joined by ';'.
std::string flags(const CheckpointAnalysis& checkpoint, const std::string& own) {
  if (!checkpoint.random) return own;
  return own.empty() ? kRandomWeights : own + ';' + kRandomWeights;
}

// Whether spreadsheets would take the text, without the apostrophes before it, for a formula.
bool reads_as_formula(std::string_view text) {
  const size_t first = text.find_first_not_of('\'');
  return first != std::string_view::npos &&
         std::string_view("=+-@\t\r").find(text[first]) != std::string_view::npos;
}

}  // namespace

std::string guard_name(const std::string& name) {
  return reads_as_formula(name) ? '\'' + name : name;
}

std::string unguard_name(const std::string& field) {
  return field.starts_with('\'') && reads_as_formula(field) ? field.substr(1) : field;
}

std::string format_qk_table(const std::vector<CheckpointAnalysis>& checkpoints) {
  std::string text =
      "model,checkpoint,phase,order,layer,q_head,kv_head,rope,pc,explained_variance,r_q,r_k,r_q_se,"
      "r_k_se,"
      "explained_variance_se,class,pc0_stability,n_q,n_k,n_blocks,flag\n";
  for (const CheckpointAnalysis& checkpoint : checkpoints) {
    for (const HeadAnalysis& head : checkpoint.heads) {
      const HeadComponents& c = head.components;
      const bool classed = !std::isnan(c.r_q[0].value) && !std::isnan(c.r_k[0].value);
      const std::string_view head_class =
          classed ? class_name(classify(c.r_q[0].value, c.r_k[0].value)) : std::string_view();
      for (size_t pc = 0; pc < c.r_q.size(); ++pc) {
        fmt::format_to(std::back_inserter(text),
                       "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n",
                       field(checkpoint.model), field(checkpoint.label), field(checkpoint.phase),
                       checkpoint.order, head.layer, head.q_head, head.kv_head, head.rope ? 1 : 0,
                       pc, number(c.explained_variance[pc].value), number(c.r_q[pc].value),
                       number(c.r_k[pc].value), number(c.r_q[pc].se), number(c.r_k[pc].se),
                       number(c.explained_variance[pc].se), head_class, number(c.pc0_stability),
                       head.n_q, head.n_k, c.block_sizes.size(), flags(checkpoint, c.flags[pc]));
      }
    }
  }
  return text;
}

}  // namespace ropewalk
