#include "ropewalk/moments/keep_options.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace ropewalk {
namespace {

// Converts to anything: tells whether a T can be made of as many values as there are indexes.
struct AnyValue {
  template <typename T>
  operator T() const;  // NOLINT(google-explicit-constructor)
};
template <typename T, size_t... I>
constexpr bool takes(std::index_sequence<I...>) {
  return requires { T{(static_cast<void>(I), AnyValue{})...}; };
}
static_assert(takes<KeepOptions>(std::make_index_sequence<kKeepOptions.size()>()) &&
                  !takes<KeepOptions>(std::make_index_sequence<kKeepOptions.size() + 1>()),
              "every member of KeepOptions has a row in kKeepOptions");

void set(bool& member, bool on) { member = on; }
void set(KeepCount& member, bool on) { member.number = on ? KeepCount::kAll : 0; }

KeepOptions keep_all(bool on) {
  KeepOptions options;
  for (const KeepOption& option : kKeepOptions) {
    option.visit(options, [&](auto& member) { set(member, on); });
  }
  return options;
}

bool is_on(bool member) { return member; }
bool is_on(const KeepCount& member) { return member.number > 0; }

}  // namespace

bool KeepOption::on(const KeepOptions& options) const {
  return visit(options, [](const auto& value) { return is_on(value); });
}

const KeepOption* find_keep_option(const std::string& key) {
  const auto* const found = std::find_if(kKeepOptions.begin(), kKeepOptions.end(),
                                         [&](const KeepOption& one) { return one.key == key; });
  return found == kKeepOptions.end() ? nullptr : found;
}

KeepOptions keep_nothing() { return keep_all(false); }

KeepOptions keep_everything() { return keep_all(true); }

KeepOptions keep_both(const KeepOptions& a, const KeepOptions& b) {
  KeepOptions both = a;
  for (const KeepOption& option : kKeepOptions) {
    if (!option.on(b)) option.visit(both, [](auto& member) { set(member, false); });
  }
  return both;
}

Json keep_json(bool value) { return value; }

Json keep_json(const KeepCount& value) {
  return value.number == KeepCount::kAll ? Json("all") : Json(value.number);
}

Json keep_json(const KeepOptions& options) {
  Json json = Json::object();
  for (const KeepOption& option : kKeepOptions) {
    json[option.key] = option.visit(options, [](const auto& value) { return keep_json(value); });
  }
  return json;
}

Json keep_json(const KeepRecords& records) {
  Json json = Json::object();
  for (const auto& [name, record] : records) {
    json[name]["numerics"] = record.numerics;
    if (record.count.number > 0) json[name]["count"] = keep_json(record.count);
  }
  return json;
}

namespace {

void set_count(bool&, const KeepCount&) {}
void set_count(KeepCount& member, const KeepCount& count) { member = count; }

}  // namespace

KeepOptions options_of(const KeepRecords& records) {
  KeepOptions options = keep_everything();
  for (const auto& [name, record] : records) {
    const KeepOption* const option = find_keep_option(name);
    if (option == nullptr) continue;
    option->visit(options, [&](auto& member) { set_count(member, record.count); });
  }
  return options;
}

std::optional<KeepCount> parse_keep_count(const std::string& text) {
  if (text == "all") return KeepCount{KeepCount::kAll};
  KeepCount count;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, count.number);
  if (error == std::errc() && stop == end && count.number >= 0) return count;
  return std::nullopt;
}

}  // namespace ropewalk
