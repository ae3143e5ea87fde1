#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ropewalk/analysis/table/run_table.h"

namespace ropewalk {

inline constexpr const char* kClassKind = "class";
inline constexpr const char* kColumnKind = "column";

// Whether heads of one class, or with large numbers in one column, have a role more often than
// heads of the same layer do by chance (docs/method.md). One row of roles.csv.
struct RoleAssociation {
  size_t checkpoint = 0;  // index in the table
  std::string kind;       // kClassKind or kColumnKind
  std::string name;       // of the class or the column
  std::string role;       // key of the role
  int64_t heads = 0;      // that have both numbers
  int64_t in_class = 0;   // of a class: heads in it, heads with the role, and heads with both
  int64_t in_role = 0;
  int64_t both = 0;
  double value = 0;     // odds ratio of class and role, or rank correlation of column and score
  double expected = 0;  // the same of heads that are dealt anew within their layers, on average
  double p = 0;         // by dealing heads anew within their layers
  double q = 0;         // false discovery rate within the table
};

// All of them, checkpoint by checkpoint; those of roles without any score are missing.
std::vector<RoleAssociation> role_associations(const std::vector<CheckpointTable>& checkpoints);

// roles.csv (docs/formats.md).
std::string format_role_table(const std::vector<CheckpointTable>& checkpoints,
                              const std::vector<RoleAssociation>& associations);

}  // namespace ropewalk
