#include "ropewalk/moments/describe_difference.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <vector>

#include "ropewalk/base/printable.h"

namespace ropewalk {
namespace {

constexpr size_t kShown = 60;  // characters of a value
constexpr size_t kMost = 3;    // differences that are named

std::set<std::string> keys_of(const Json& a, const Json& b) {
  std::set<std::string> names;
  for (const Json* json : {&a, &b}) {
    for (const auto& [key, value] : json->items()) names.insert(key);
  }
  return names;
}

// A capture without a backend ran through our own pass.
Json backend(const Json& value) {
  if (!value.is_object()) return "ropewalk";
  return fmt::format("{} {}, torch {}", value.value("name", ""), value.value("version", ""),
                     value.value("torch", ""));
}

// Gathers what differs, key by key, in words.
class Differences {
 public:
  void add(const std::string& key, const Json& was, const Json& is) {
    if (was == is) return;
    if (key == "weights") {
      texts_.emplace_back("the weights changed");
    } else if (key == "pieces") {
      texts_.emplace_back("the pieces of texts were dealt to other blocks");
    } else if (key == "heads") {
      texts_.push_back(fmt::format("heads: {} → {}{}", was.size(), is.size(),
                                   was.size() == is.size() ? ", others" : ""));
    } else if (key == "backend") {
      add_value(key, backend(was), backend(is));
    } else if (was.is_object() && is.is_object()) {
      for (const std::string& inner : keys_of(was, is)) {
        add_setting(inner, was.value(inner, Json()), is.value(inner, Json()));
      }
    } else {
      add_value(key, was, is);
    }
  }

  // The first ones, and how many more there are.
  std::string text() const {
    const size_t shown = std::min(texts_.size(), kMost);
    const auto end = texts_.begin() + static_cast<std::ptrdiff_t>(shown);
    std::string text = fmt::format("{}", fmt::join(texts_.begin(), end, ", "));
    if (shown < texts_.size()) text += fmt::format(" and {} more", texts_.size() - shown);
    return text;
  }

 private:
  // In a list of settings, the one key that differs says more than both lists.
  void add_setting(const std::string& name, const Json& was, const Json& is) {
    const Json flat_was = was.is_structured() ? was.flatten() : Json();
    const Json flat_is = is.is_structured() ? is.flatten() : Json();
    if (!flat_was.is_object() || !flat_is.is_object()) return add_value(name, was, is);
    for (const std::string& path : keys_of(flat_was, flat_is)) {
      add_value(name + path, flat_was.value(path, Json()), flat_is.value(path, Json()));
    }
  }

  void add_value(const std::string& name, const Json& was, const Json& is) {
    if (was == is) return;
    texts_.push_back(fmt::format("{}: {} → {}", name, shown_value(was), shown_value(is)));
  }

  std::vector<std::string> texts_;
};

}  // namespace

std::string describe_difference(const Json& before, const Json& now) {
  Differences differences;
  for (const std::string& key : keys_of(before, now)) {
    differences.add(key, before.value(key, Json()), now.value(key, Json()));
  }
  return differences.text();
}

// A value for messages; texts get the quotes that all messages use.
std::string shown_value(const Json& value) {
  if (!value.is_string()) return printable_excerpt(value.dump(), kShown);
  return "'" + printable_excerpt(value.get<std::string>(), kShown) + "'";
}

}  // namespace ropewalk
