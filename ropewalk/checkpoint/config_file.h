#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ropewalk/base/files/json.h"

namespace ropewalk {

// A config.json (or an object inside it) with typed access. Every getter names file and key in its
// InputError when the key is missing or has another type. `null` counts as missing, as it does for
// the programs that write these files.
class ConfigFile {
 public:
  explicit ConfigFile(const std::filesystem::path& path);
  ConfigFile(Json object, std::string source);

  const std::string& source() const { return source_; }
  const Json& json() const { return json_; }
  bool has(const std::string& key) const;

  // Whole number >= 1.
  int64_t size(const std::string& key) const;
  int64_t size(const std::string& key, int64_t otherwise) const;
  std::optional<int64_t> optional_size(const std::string& key) const;
  // Finite number.
  double number(const std::string& key) const;
  double number(const std::string& key, double otherwise) const;
  std::optional<double> optional_number(const std::string& key) const;
  // Finite number above 0.
  double positive(const std::string& key) const;
  bool flag(const std::string& key, bool otherwise) const;
  std::string text(const std::string& key) const;
  std::string text(const std::string& key, const std::string& otherwise) const;
  std::vector<double> positives(const std::string& key) const;  // a list of finite ones above 0
  std::vector<int64_t> integers(const std::string& key) const;
  std::vector<std::string> texts(const std::string& key) const;
  // A nested object; errors inside it name "key.inner".
  ConfigFile object(const std::string& key) const;

 private:
  const Json& at(const std::string& key, const char* expected) const;
  std::string where(const std::string& key) const;

  Json json_;
  std::string source_;
  std::string prefix_;
};

}  // namespace ropewalk
