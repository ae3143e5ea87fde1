#include "ropewalk/analysis/run/context_label.h"

#include <fmt/format.h>

#include <charconv>

namespace ropewalk {

std::string label_at(const std::string& name, int64_t context) {
  return fmt::format("{}@{}", name, context);
}

ContextLabel split_label(const std::string& label) {
  const size_t at = label.rfind('@');
  if (at == std::string::npos || at == 0 || label[at + 1] == '0') return {label, 0};
  int64_t context = 0;
  const char* end = label.data() + label.size();
  const auto [stop, error] = std::from_chars(label.data() + at + 1, end, context);
  if (error != std::errc() || stop != end || context < 2) return {label, 0};
  return {label.substr(0, at), context};
}

}  // namespace ropewalk
