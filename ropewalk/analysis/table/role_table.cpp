#include "ropewalk/analysis/table/role_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "ropewalk/analysis/math/discovery_rates.h"
#include "ropewalk/analysis/math/permutations.h"
#include "ropewalk/analysis/table/qk_table.h"
#include "ropewalk/analysis/table/roles.h"
#include "ropewalk/analysis/table/taxonomy.h"
#include "ropewalk/base/processes/interrupt.h"
#include "ropewalk/base/processes/parallel.h"

namespace ropewalk {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// Columns about position that are held against roles: none of them is a role's score.
constexpr const char* kColumns[] = {
    "r2cv_q",     "r2cv_k",      "logit_pos_share", "logit_sd",         "bias_context",
    "pc0_offset", "low_share_q", "low_share_k",     "rope_var_share_q", "rope_var_share_k",
    "dist_reach", "dist_range",  "reach",           "entropy",          "positional",
    "symbolic",   "pairing"};

// Heads of a checkpoint with two numbers each, by layer.
struct PairedHeads {
  std::vector<int64_t> layer;
  std::vector<double> x, y;

  void add(int64_t of_layer, double of_x, double of_y) {
    layer.push_back(of_layer);
    x.push_back(of_x);
    y.push_back(of_y);
  }
};

std::vector<size_t> rows_by_layer(const CheckpointTable& checkpoint) {
  std::vector<size_t> rows = checkpoint.head_rows();
  std::stable_sort(rows.begin(), rows.end(), [&](size_t a, size_t b) {
    return std::pair(checkpoint.layer[a], checkpoint.q_head[a]) <
           std::pair(checkpoint.layer[b], checkpoint.q_head[b]);
  });
  return rows;
}

// Half a head is added to each field, so that none is empty.
double odds_ratio(double both, double in_class, double in_role, double heads) {
  constexpr double kHalf = 0.5;
  const double neither = heads - in_class - in_role + both;
  return (both + kHalf) * (neither + kHalf) /
         ((in_class - both + kHalf) * (in_role - both + kHalf));
}

RoleAssociation of_class(const CheckpointTable& checkpoint, const std::vector<size_t>& rows,
                         HeadClass head_class, const Role& role) {
  PairedHeads heads;
  for (const size_t row : rows) {
    const auto own = class_of(checkpoint, row);
    const auto has = has_role(role, checkpoint, row);
    if (own && has) heads.add(checkpoint.layer[row], *own == head_class, *has);
  }
  RoleAssociation made;
  made.kind = kClassKind;
  made.name = class_name(head_class);
  made.role = role.key;
  made.heads = static_cast<int64_t>(heads.x.size());
  made.in_class = std::count(heads.x.begin(), heads.x.end(), 1.0);
  made.in_role = std::count(heads.y.begin(), heads.y.end(), 1.0);
  const GroupedAssociation found = grouped_association(heads.layer, heads.x, heads.y);
  made.both = static_cast<int64_t>(found.sum);
  const auto odds = [&](double both) {
    return odds_ratio(both, static_cast<double>(made.in_class), static_cast<double>(made.in_role),
                      static_cast<double>(made.heads));
  };
  const bool some = made.in_class > 0 && made.in_role > 0 && made.in_class < made.heads &&
                    made.in_role < made.heads;
  made.value = some ? odds(found.sum) : kNone;
  made.expected = some ? odds(found.expected) : kNone;
  made.p = some ? found.p : kNone;
  return made;
}

RoleAssociation of_column(const CheckpointTable& checkpoint, const std::vector<size_t>& rows,
                          const char* column, const Role& role) {
  const std::vector<double>& numbers = checkpoint.column(column).value;
  const std::vector<double>& scores = checkpoint.column(role.score).value;
  PairedHeads heads;
  for (const size_t row : rows) {
    if (std::isnan(numbers[row]) || std::isnan(scores[row])) continue;
    heads.add(checkpoint.layer[row], numbers[row], scores[row]);
  }
  heads.x = ranks_of(heads.x);
  heads.y = ranks_of(heads.y);
  const GroupedAssociation found = grouped_association(heads.layer, heads.x, heads.y);
  const auto n = static_cast<double>(heads.x.size());
  const double middle = (n + 1) / 2;
  const auto spread = [&](const std::vector<double>& ranks) {
    double sum = 0;
    for (const double rank : ranks) sum += (rank - middle) * (rank - middle);
    return std::sqrt(sum);
  };
  const double width = spread(heads.x) * spread(heads.y);
  const auto correlation = [&](double sum) {
    return width > 0 ? (sum - n * middle * middle) / width : kNone;
  };
  RoleAssociation made;
  made.kind = kColumnKind;
  made.name = column;
  made.role = role.key;
  made.heads = static_cast<int64_t>(heads.x.size());
  made.value = correlation(found.sum);
  made.expected = correlation(found.expected);
  made.p = width > 0 ? found.p : kNone;
  return made;
}

std::vector<RoleAssociation> of_checkpoint(const std::vector<CheckpointTable>& checkpoints,
                                           size_t index) {
  const CheckpointTable& checkpoint = checkpoints[index];
  const std::vector<size_t> rows = rows_by_layer(checkpoint);
  std::vector<RoleAssociation> all;
  for (const Role& role : kRoles) {
    if (role_numbers(role, checkpoint).of == 0) continue;
    throw_if_interrupted();
    for (const HeadClass head_class : kHeadClasses) {
      all.push_back(of_class(checkpoint, rows, head_class, role));
    }
    for (const char* column : kColumns) {
      all.push_back(of_column(checkpoint, rows, column, role));
      if (all.back().heads == 0) all.pop_back();
    }
  }
  for (RoleAssociation& one : all) one.checkpoint = index;
  return all;
}

}  // namespace

std::vector<RoleAssociation> role_associations(const std::vector<CheckpointTable>& checkpoints) {
  std::vector<std::vector<RoleAssociation>> parts(checkpoints.size());
  run_parallel(parts.size(), [&](size_t i) { parts[i] = of_checkpoint(checkpoints, i); });
  std::vector<RoleAssociation> all;
  for (std::vector<RoleAssociation>& part : parts) {
    all.insert(all.end(), std::make_move_iterator(part.begin()),
               std::make_move_iterator(part.end()));
  }
  std::vector<double> p;
  for (const RoleAssociation& one : all) p.push_back(one.p);
  const std::vector<double> q = false_discovery_rates(p);
  for (size_t i = 0; i < all.size(); ++i) all[i].q = q[i];
  return all;
}

std::string format_role_table(const std::vector<CheckpointTable>& checkpoints,
                              const std::vector<RoleAssociation>& associations) {
  std::string text =
      "model,checkpoint,phase,order,kind,name,role,heads,in_class,in_role,both,value,expected,p,q"
      "\n";
  for (const RoleAssociation& one : associations) {
    const CheckpointTable& checkpoint = checkpoints[one.checkpoint];
    const bool counted = one.kind == kClassKind;
    const auto count = [&](int64_t number) { return counted ? std::to_string(number) : ""; };
    text +=
        fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", csv_name(checkpoint.model),
                    csv_name(checkpoint.label), csv_name(checkpoint.phase), checkpoint.order,
                    one.kind, one.name, one.role, one.heads, count(one.in_class),
                    count(one.in_role), count(one.both), table_number(one.value),
                    table_number(one.expected), table_number(one.p), table_number(one.q));
  }
  return text;
}

}  // namespace ropewalk
