#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ropewalk/moments/head_sampling.h"

namespace ropewalk {

// "L3H2" for layer 3, query head 2; both count from 0.
std::string head_name(const QueryHead& head);

// The head of a name such as "L3H2" or "3.2"; empty where it is not such a name.
std::optional<QueryHead> find_head(std::string_view name);

// The error "'H2L3' names no head; expected one such as L3H2".
std::string unknown_head_error(std::string_view name);

}  // namespace ropewalk
