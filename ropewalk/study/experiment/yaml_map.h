#pragma once

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ropewalk/base/files/json.h"
#include "ropewalk/base/nearest.h"

namespace ropewalk {

// Reads YAML strictly: everything unexpected is an InputError with file, line, what was found and
// what to write instead.
class YamlValue {
 public:
  // An empty value has the line of its key.
  YamlValue(YAML::Node node, std::string file, std::string name, int key_line = 0);

  int line() const { return line_; }  // counted from 1
  const std::string& name() const { return name_; }
  std::string where() const;  // The file and the line, "run.yaml:12".
  bool is_map() const { return node_.IsMap(); }
  bool is_list() const { return node_.IsSequence(); }
  bool is_null() const { return node_.IsNull(); }

  std::string text() const;
  // A text that tables and figures show, of at most kLongestTitle characters.
  std::string title() const;
  // An integer in YAML's notation: without underscores and spaces.
  int64_t integer(int64_t least, int64_t most) const;
  double positive() const;
  bool flag() const;
  // One of the words; an error suggests the most similar one.
  std::string word(const std::vector<std::string_view>& words) const;
  std::vector<YamlValue> list() const;
  // Numbers, texts, flags, maps and lists as JSON; at most a thousand of them.
  Json json() const;

  struct Key {
    std::string_view name;
    std::function<void(const YamlValue&)> read;
    bool required = false;
  };
  // Reads a map. Unknown and repeated keys are errors; for unknown ones, a similar key is
  // suggested.
  void map(const std::vector<Key>& keys) const;

  // Throws an error such as "run.yaml:12: heads.count: <text>".
  [[noreturn]] void fail(const std::string& text) const;

 private:
  Json json(const YamlValue& top, int& values_left) const;
  [[noreturn]] void expected(const std::string& what) const;
  // Throws this error, with a hint where the value is a number in quotes.
  [[noreturn]] void expected_number(const std::string& what) const;
  std::string found() const;

  YAML::Node node_;
  std::string file_;
  std::string name_;
  int line_;
};

// The text of a file of at most a few megabytes. Throws SystemError where it cannot be read.
std::string read_yaml_text(const std::filesystem::path& file);
// The top-level value. Throws InputError naming the file where the text is not YAML.
YamlValue parse_yaml(const std::string& text, const std::filesystem::path& file);

}  // namespace ropewalk
