#pragma once

#include <array>
#include <cstddef>
#include <optional>

namespace ropewalk {

struct CheckpointTable;

// What a head is said to do where a score of it is above a threshold by more than its error.
struct Role {
  const char* key;    // "previous"
  const char* name;   // "previous token"
  const char* score;  // a column of heads.csv
  double threshold;
  const char* what;  // the score, in words
};

// Thresholds are those under which the literature counts such heads: attention to the first token
// of 0.3 (2410.10781), to the token before and behind earlier copies of 0.4.
inline constexpr std::array kRoles{
    Role{"sink", "sink", "sink", 0.3, "attention to the first token"},
    Role{"previous", "previous token", "previous", 0.4, "attention to the token before"},
    Role{"induction", "induction", "induction", 0.4, "attention behind the earlier copy"}};
// Beside them in the figure: a head of whose logits' variance place alone makes more than half.
inline constexpr Role kPlaceRole{"place", "place", "positional", 0.5,
                                 "place's share of logit variance"};

inline constexpr double kRoleErrors = 2;  // standard errors

// Whether a score is above the threshold by more than its error; empty where either is missing.
std::optional<bool> has_role(const Role& role, double score, double se);
// The same of a head's row of PC0.
std::optional<bool> has_role(const Role& role, const CheckpointTable& checkpoint, size_t row);

// The heads of a checkpoint of which it is known whether they have a role.
struct RoleNumbers {
  size_t of = 0;     // how many
  size_t heads = 0;  // how many have it
  double top = 0;    // mean score of the strongest tenth; NaN: none is known
};
RoleNumbers role_numbers(const Role& role, const CheckpointTable& checkpoint);
inline constexpr size_t kTopPart = 10;

}  // namespace ropewalk
