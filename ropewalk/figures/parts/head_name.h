#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ropewalk/moments/head_sampling.h"

namespace ropewalk {

// "L3H2": layer 3, query head 2, both from 0.
std::string head_name(const QueryHead& head);

// The head of such a name, or of "3.2"; none: it is not one.
std::optional<QueryHead> find_head(std::string_view name);

// "'H2L3' names no head; expected one such as L3H2"
std::string unknown_head_error(std::string_view name);

}  // namespace ropewalk
