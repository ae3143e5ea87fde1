#include "ropewalk/checkpoint/config_file.h"

#include <cmath>

#include "ropewalk/base/error.h"

namespace ropewalk {

ConfigFile::ConfigFile(const std::filesystem::path& path)
    : ConfigFile(read_json_file(path), path.string()) {}

ConfigFile::ConfigFile(Json object, std::string source)
    : json_(std::move(object)), source_(std::move(source)) {
  if (!json_.is_object()) throw InputError("{}: is not a JSON object", source_);
}

std::string ConfigFile::where(const std::string& key) const {
  return fmt::format("{}: key '{}{}'", source_, prefix_, key);
}

bool ConfigFile::has(const std::string& key) const {
  const auto found = json_.find(key);
  return found != json_.end() && !found->is_null();
}

const Json& ConfigFile::at(const std::string& key, const char* expected) const {
  if (!has(key)) throw InputError("{} is missing; expected {}", where(key), expected);
  return json_[key];
}

int64_t ConfigFile::size(const std::string& key) const {
  constexpr const char* kExpected = "a whole number of at least 1";
  constexpr int64_t kLimit = int64_t{1} << 40;  // keeps every product of two sizes within 64 bits
  const Json& value = at(key, kExpected);
  // Some configs write sizes as 4096.0.
  const bool whole =
      value.is_number_integer() ||
      (value.is_number_float() && std::trunc(value.get<double>()) == value.get<double>());
  if (!whole || value.get<double>() < 1 || value.get<double>() > static_cast<double>(kLimit)) {
    throw InputError("{}: found {}, expected {}", where(key), value.dump(), kExpected);
  }
  return static_cast<int64_t>(value.get<double>());
}

int64_t ConfigFile::size(const std::string& key, int64_t otherwise) const {
  return has(key) ? size(key) : otherwise;
}

std::optional<int64_t> ConfigFile::optional_size(const std::string& key) const {
  return has(key) ? std::optional(size(key)) : std::nullopt;
}

double ConfigFile::number(const std::string& key) const {
  const Json& value = at(key, "a number");
  if (!value.is_number() || !std::isfinite(value.get<double>())) {
    throw InputError("{}: found {}, expected a number", where(key), value.dump());
  }
  return value.get<double>();
}

double ConfigFile::number(const std::string& key, double otherwise) const {
  return has(key) ? number(key) : otherwise;
}

std::optional<double> ConfigFile::optional_number(const std::string& key) const {
  return has(key) ? std::optional(number(key)) : std::nullopt;
}

double ConfigFile::positive(const std::string& key) const {
  const double value = number(key);
  if (!(value > 0)) {
    throw InputError("{}: found {}, expected a number above 0", where(key), value);
  }
  return value;
}

bool ConfigFile::flag(const std::string& key, bool otherwise) const {
  if (!has(key)) return otherwise;
  const Json& value = json_[key];
  if (!value.is_boolean()) {
    throw InputError("{}: found {}, expected true or false", where(key), value.dump());
  }
  return value.get<bool>();
}

std::string ConfigFile::text(const std::string& key) const {
  const Json& value = at(key, "a string");
  if (!value.is_string())
    throw InputError("{}: found {}, expected a string", where(key), value.dump());
  return value.get<std::string>();
}

std::string ConfigFile::text(const std::string& key, const std::string& otherwise) const {
  return has(key) ? text(key) : otherwise;
}

std::vector<double> ConfigFile::positives(const std::string& key) const {
  constexpr const char* kExpected = "a list of numbers above 0";
  const Json& value = at(key, kExpected);
  std::vector<double> result;
  for (const Json& item : value) {
    if (!value.is_array() || !item.is_number() || !(item.get<double>() > 0) ||
        !std::isfinite(item.get<double>())) {
      throw InputError("{}: found {}, expected {}", where(key), item.dump(), kExpected);
    }
    result.push_back(item.get<double>());
  }
  return result;
}

std::vector<int64_t> ConfigFile::integers(const std::string& key) const {
  const Json& value = at(key, "a list of whole numbers");
  std::vector<int64_t> result;
  for (const Json& item : value) {
    if (!value.is_array() || !item.is_number_integer()) {
      throw InputError("{}: found {}, expected a list of whole numbers", where(key), value.dump());
    }
    result.push_back(item.get<int64_t>());
  }
  return result;
}

std::vector<std::string> ConfigFile::texts(const std::string& key) const {
  const Json& value = at(key, "a list of strings");
  std::vector<std::string> result;
  for (const Json& item : value) {
    if (!value.is_array() || !item.is_string()) {
      throw InputError("{}: found {}, expected a list of strings", where(key), value.dump());
    }
    result.push_back(item.get<std::string>());
  }
  return result;
}

ConfigFile ConfigFile::object(const std::string& key) const {
  const Json& value = at(key, "an object");
  if (!value.is_object())
    throw InputError("{}: found {}, expected an object", where(key), value.dump());
  ConfigFile inner(value, source_);
  inner.prefix_ = prefix_ + key + ".";
  return inner;
}

}  // namespace ropewalk
