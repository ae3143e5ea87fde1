#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/base/printable.h"

namespace ropewalk {

inline constexpr size_t kShownName = 60;  // characters of a name in a message

// Throws UsageError for a name of heads or of an edit that cannot be read; `field` is where it was
// given.
template <typename... Args>
[[noreturn]] void refuse_name(const char* field, const std::string& name,
                              fmt::format_string<Args...> why, Args&&... args) {
  throw UsageError(Field{field}, " '{}': {}", printable_excerpt(name, kShownName),
                   fmt::format(why, std::forward<Args>(args)...));
}

}  // namespace ropewalk
