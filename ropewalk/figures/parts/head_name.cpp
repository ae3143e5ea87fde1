#include "ropewalk/figures/parts/head_name.h"

#include <fmt/format.h>

#include <charconv>

#include "ropewalk/base/printable.h"

namespace ropewalk {
namespace {

// Removes one of the letters from the beginning of `text`.
bool take_letter(std::string_view& text, std::string_view letters) {
  if (text.empty() || letters.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

// Removes digits from the beginning of `text`.
std::optional<int32_t> take_number(std::string_view& text) {
  if (text.starts_with('-')) return {};
  int32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return {};
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return number;
}

}  // namespace

std::string head_name(const QueryHead& head) {
  return fmt::format("L{}H{}", head.layer, head.q_head);
}

std::optional<QueryHead> find_head(std::string_view name) {
  const bool letters = take_letter(name, "Ll");
  const auto layer = take_number(name);
  if (!layer || !take_letter(name, letters ? "Hh" : ".")) return {};
  const auto q_head = take_number(name);
  if (!q_head || !name.empty()) return {};
  return QueryHead{*layer, *q_head};
}

std::string unknown_head_error(std::string_view name) {
  return fmt::format("'{}' is not a head; expected for example L3H2 for layer 3, query head 2",
                     printable_excerpt(std::string(name), 60));
}

}  // namespace ropewalk
