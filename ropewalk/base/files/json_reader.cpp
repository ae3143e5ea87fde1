#include "ropewalk/base/files/json_reader.h"

#include <cmath>

#include "ropewalk/base/error.h"
#include "ropewalk/base/printable.h"

namespace ropewalk {
namespace {

std::string shown(const Json& value) { return printable_excerpt(value.dump(), 60); }

}  // namespace

JsonReader::JsonReader(const std::filesystem::path& path)
    : JsonReader(read_json_file(path), path.string()) {}

JsonReader::JsonReader(Json object, std::string source)
    : JsonReader(std::make_shared<const Json>(std::move(object)), std::move(source), "") {}

JsonReader JsonReader::of(const Json& object, std::string source) {
  return {std::shared_ptr<const Json>(std::shared_ptr<void>(), &object), std::move(source), ""};
}

JsonReader::JsonReader(std::shared_ptr<const Json> json, std::string source, std::string prefix)
    : json_(std::move(json)), source_(std::move(source)), prefix_(std::move(prefix)) {
  if (json_->is_object()) return;
  if (prefix_.empty()) throw InputError("{}: is not a JSON object", source_);
  prefix_.pop_back();
  throw InputError("{}: found {}, expected an object", where(""), shown(*json_));
}

std::string JsonReader::where(const std::string& key) const {
  return fmt::format("{}: key '{}'", source_, printable_excerpt(prefix_ + key, 200));
}

bool JsonReader::has(const std::string& key) const {
  const auto found = json_->find(key);
  return found != json_->end() && !found->is_null();
}

const Json& JsonReader::at(const std::string& key, const char* expected) const {
  if (!has(key)) throw InputError("{} is missing; expected {}", where(key), expected);
  return (*json_)[key];
}

const Json& JsonReader::list(const std::string& key, const char* expected) const {
  const Json& value = at(key, expected);
  if (!value.is_array()) refuse(key, expected);
  return value;
}

void JsonReader::refuse(const std::string& key, const std::string& expected) const {
  const Json found = json_->value(key, Json());
  throw InputError("{}: found {}, expected {}", where(key), shown(found), expected);
}

int64_t JsonReader::size(const std::string& key) const {
  constexpr const char* kExpected = "a whole number of at least 1";
  constexpr int64_t kLimit = int64_t{1} << 40;  // keeps every product of two sizes within 64 bits
  const Json& value = at(key, kExpected);
  // Some configs write sizes as 4096.0.
  const bool whole =
      value.is_number_integer() ||
      (value.is_number_float() && std::trunc(value.get<double>()) == value.get<double>());
  if (!whole || value.get<double>() < 1 || value.get<double>() > static_cast<double>(kLimit)) {
    refuse(key, kExpected);
  }
  return static_cast<int64_t>(value.get<double>());
}

int64_t JsonReader::size(const std::string& key, int64_t otherwise) const {
  return has(key) ? size(key) : otherwise;
}

std::optional<int64_t> JsonReader::optional_size(const std::string& key) const {
  return has(key) ? std::optional(size(key)) : std::nullopt;
}

int64_t JsonReader::count(const std::string& key) const {
  if (!has(key)) return 0;
  const Json& value = (*json_)[key];
  if (!value.is_number_integer() || value < 0 || value > INT64_MAX / 2) {
    refuse(key, "a whole number from 0");
  }
  return value.get<int64_t>();
}

double JsonReader::number(const std::string& key) const {
  constexpr const char* kExpected = "a number";
  const Json& value = at(key, kExpected);
  if (!value.is_number() || !std::isfinite(value.get<double>())) refuse(key, kExpected);
  return value.get<double>();
}

double JsonReader::number(const std::string& key, double otherwise) const {
  return has(key) ? number(key) : otherwise;
}

std::optional<double> JsonReader::optional_number(const std::string& key) const {
  return has(key) ? std::optional(number(key)) : std::nullopt;
}

double JsonReader::positive(const std::string& key) const {
  const double value = number(key);
  if (!(value > 0)) refuse(key, "a number above 0");
  return value;
}

bool JsonReader::flag(const std::string& key) const {
  constexpr const char* kExpected = "true or false";
  const Json& value = at(key, kExpected);
  if (!value.is_boolean()) refuse(key, kExpected);
  return value.get<bool>();
}

bool JsonReader::flag(const std::string& key, bool otherwise) const {
  return has(key) ? flag(key) : otherwise;
}

std::string JsonReader::text(const std::string& key) const {
  constexpr const char* kExpected = "a string";
  const Json& value = at(key, kExpected);
  if (!value.is_string()) refuse(key, kExpected);
  return value.get<std::string>();
}

std::string JsonReader::text(const std::string& key, const std::string& otherwise) const {
  return has(key) ? text(key) : otherwise;
}

std::vector<double> JsonReader::positives(const std::string& key) const {
  constexpr const char* kExpected = "a list of numbers above 0";
  std::vector<double> result;
  for (const Json& item : list(key, kExpected)) {
    const bool fits =
        item.is_number() && item.get<double>() > 0 && std::isfinite(item.get<double>());
    if (!fits) refuse(key, kExpected);
    result.push_back(item.get<double>());
  }
  return result;
}

std::vector<int64_t> JsonReader::integers(const std::string& key) const {
  constexpr const char* kExpected = "a list of whole numbers";
  std::vector<int64_t> result;
  for (const Json& item : list(key, kExpected)) {
    if (!item.is_number_integer()) refuse(key, kExpected);
    result.push_back(item.get<int64_t>());
  }
  return result;
}

std::vector<std::string> JsonReader::texts(const std::string& key) const {
  constexpr const char* kExpected = "a list of strings";
  std::vector<std::string> result;
  for (const Json& item : list(key, kExpected)) {
    if (!item.is_string()) refuse(key, kExpected);
    result.push_back(item.get<std::string>());
  }
  return result;
}

std::vector<std::pair<std::string, std::string>> JsonReader::pairs(const std::string& key) const {
  constexpr const char* kExpected = "a list of pairs of strings";
  std::vector<std::pair<std::string, std::string>> result;
  for (const Json& item : list(key, kExpected)) {
    const bool fits =
        item.is_array() && item.size() == 2 && item[0].is_string() && item[1].is_string();
    if (!fits) refuse(key, kExpected);
    result.emplace_back(item[0].get<std::string>(), item[1].get<std::string>());
  }
  return result;
}

JsonReader JsonReader::inside(const Json& value, const std::string& key) const {
  return {std::shared_ptr<const Json>(json_, &value), source_, prefix_ + key + "."};
}

JsonReader JsonReader::object(const std::string& key) const {
  return inside(at(key, "an object"), key);
}

std::vector<JsonReader> JsonReader::objects(const std::string& key, bool some_null) const {
  std::vector<JsonReader> result;
  size_t index = 0;
  for (const Json& item : list(key, "a list")) {
    const std::string name = fmt::format("{}[{}]", key, index++);
    if (!some_null || !item.is_null()) result.push_back(inside(item, name));
  }
  return result;
}

std::vector<JsonReader> JsonReader::members(const std::string& key) const {
  std::vector<JsonReader> result;
  const JsonReader whole = object(key);
  for (const auto& [name, member] : whole.json().items()) {
    result.push_back(whole.inside(member, name));
  }
  return result;
}

}  // namespace ropewalk
