#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ropewalk/base/files/json.h"

namespace ropewalk {

// A JSON file, or a value inside it, with checked access. Every getter throws InputError naming
// file and key where the key is missing or holds something else. `null` counts as missing, as it
// does for the programs that write a config.json.
class JsonReader {
 public:
  // Reads a file that holds an object.
  explicit JsonReader(const std::filesystem::path& path);
  JsonReader(Json object, std::string source);
  // Reads `object` without a copy; it must outlive the reader.
  static JsonReader of(const Json& object, std::string source);

  const std::string& source() const { return source_; }
  const Json& json() const { return *json_; }
  bool has(const std::string& key) const;

  // A whole number of at least 1.
  int64_t size(const std::string& key) const;
  int64_t size(const std::string& key, int64_t otherwise) const;
  std::optional<int64_t> optional_size(const std::string& key) const;
  // A whole number of at least 0; 0 where the key is missing.
  int64_t count(const std::string& key) const;
  // A finite number.
  double number(const std::string& key) const;
  double number(const std::string& key, double otherwise) const;
  std::optional<double> optional_number(const std::string& key) const;
  // A finite number above 0.
  double positive(const std::string& key) const;
  bool flag(const std::string& key) const;
  bool flag(const std::string& key, bool otherwise) const;
  std::string text(const std::string& key) const;
  std::string text(const std::string& key, const std::string& otherwise) const;
  std::vector<double> positives(const std::string& key) const;  // a list of finite numbers above 0
  std::vector<int64_t> integers(const std::string& key) const;
  std::vector<std::string> texts(const std::string& key) const;
  // A nested object; its errors name "key.inner".
  JsonReader object(const std::string& key) const;
  std::vector<std::pair<std::string, std::string>> pairs(const std::string& key) const;
  // The objects of a list, named "key[2]" in errors, without null entries where `some_null`; and
  // the members of a nested object, named "key.inner".
  std::vector<JsonReader> objects(const std::string& key, bool some_null = false) const;
  std::vector<JsonReader> members(const std::string& key) const;

  // Throws InputError saying that a key holds something else; `expected` says in words what it
  // should hold.
  [[noreturn]] void refuse(const std::string& key, const std::string& expected) const;

 private:
  JsonReader(std::shared_ptr<const Json> json, std::string source, std::string prefix);
  const Json& at(const std::string& key, const char* expected) const;
  const Json& list(const std::string& key, const char* expected) const;
  JsonReader inside(const Json& value, const std::string& key) const;
  std::string where(const std::string& key) const;

  std::shared_ptr<const Json> json_;
  std::string source_;
  std::string prefix_;
};

}  // namespace ropewalk
