#include "ropewalk/text/json_part.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "ropewalk/base/error.h"
#include "ropewalk/base/printable.h"
#include "ropewalk/base/utf8.h"

namespace ropewalk {

const Json& JsonPart::object() const {
  if (!value_.is_object()) refuse(fmt::format("expected an object, found {}", value_.type_name()));
  return value_;
}

std::string JsonPart::member_path(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

JsonPart JsonPart::at(std::string_view key) const {
  const auto found = object().find(key);
  if (found == value_.end()) refuse(fmt::format("'{}' is missing", key));
  return JsonPart(*found, source_, member_path(key));
}

std::optional<JsonPart> JsonPart::find(std::string_view key) const {
  const auto found = object().find(key);
  if (found == value_.end() || found->is_null()) return std::nullopt;
  return JsonPart(*found, source_, member_path(key));
}

size_t JsonPart::size() const {
  if (!value_.is_array()) refuse(fmt::format("expected a list, found {}", value_.type_name()));
  return value_.size();
}

JsonPart JsonPart::item(size_t index) const {
  if (index >= size()) refuse(fmt::format("expected more than {} elements", index));
  return JsonPart(value_[index], source_, fmt::format("{}[{}]", path_, index));
}

std::string JsonPart::string() const {
  if (!value_.is_string()) refuse(fmt::format("expected a string, found {}", value_.type_name()));
  return value_.get<std::string>();
}

bool JsonPart::boolean() const {
  if (!value_.is_boolean()) {
    refuse(fmt::format("expected true or false, found {}", value_.type_name()));
  }
  return value_.get<bool>();
}

int64_t JsonPart::integer(int64_t low, int64_t high) const {
  const bool fits = value_.is_number_integer() &&
                    (!value_.is_number_unsigned() || value_.get<uint64_t>() <= INT64_MAX) &&
                    value_.get<int64_t>() >= low && value_.get<int64_t>() <= high;
  if (!fits) {
    refuse(fmt::format("expected an integer from {} to {}, found {}", low, high, value_.dump()));
  }
  return value_.get<int64_t>();
}

char32_t JsonPart::character() const {
  const std::string text = string();
  size_t at = 0;
  const char32_t result = text.empty() ? 0 : next_code_point(text, at);
  if (text.empty() || at != text.size()) refuse_value(text, "one character");
  return result;
}

void JsonPart::allow_only(std::initializer_list<std::string_view> keys) const {
  for (const auto& [key, unused] : object().items()) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      refuse_unsupported(
          fmt::format("unknown setting '{}'; supported: {}", key, fmt::join(keys, ", ")));
    }
  }
}

void JsonPart::refuse_value(std::string_view found, std::string_view supported) const {
  refuse_unsupported(fmt::format("'{}' is not supported; supported: {}", found, supported));
}

void JsonPart::refuse_unsupported(std::string_view what) const {
  throw InputError("{}; or give the corpus as token ids", complaint(what));
}

void JsonPart::refuse(std::string_view what) const { throw InputError("{}", complaint(what)); }

std::string JsonPart::complaint(std::string_view what) const {
  constexpr size_t kLongest = 500;  // values from the file may be anything
  return fmt::format("{}: {}", printable_excerpt(where(), kLongest),
                     printable_excerpt(what, kLongest));
}

}  // namespace ropewalk
