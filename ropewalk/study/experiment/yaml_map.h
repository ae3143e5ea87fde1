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

// Strict reading of YAML: everything that is not expected is an InputError with file, line, what
// was found and what to write instead.
class YamlValue {
 public:
  // A value that is left out has the line of its key.
  YamlValue(YAML::Node node, std::string file, std::string name, int key_line = 0);

  int line() const { return line_; }  // from 1
  const std::string& name() const { return name_; }
  std::string where() const;  // "run.yaml:12"
  bool is_map() const { return node_.IsMap(); }
  bool is_list() const { return node_.IsSequence(); }
  bool is_null() const { return node_.IsNull(); }

  std::string text() const;
  // A text that tables and figures show (kLongestTitle).
  std::string title() const;
  // Whole numbers may carry underscores or spaces nowhere: as YAML writes them.
  int64_t integer(int64_t least, int64_t most) const;
  double positive() const;
  bool flag() const;
  // One of the words, with the nearest one suggested.
  std::string word(const std::vector<std::string_view>& words) const;
  std::vector<YamlValue> list() const;
  // Numbers, texts, flags, maps and lists as JSON; at most a thousand of them.
  Json json() const;

  struct Key {
    std::string_view name;
    std::function<void(const YamlValue&)> read;
    bool required = false;
  };
  // Reads a map. Unknown and repeated keys are errors, the former with a suggestion.
  void map(const std::vector<Key>& keys) const;

  // "run.yaml:12: heads.count: <text>"
  [[noreturn]] void fail(const std::string& text) const;

 private:
  Json json(const YamlValue& top, int& values_left) const;
  [[noreturn]] void expected(const std::string& what) const;
  // The same, with a hint where a number is there, but in quotes.
  [[noreturn]] void expected_number(const std::string& what) const;
  std::string found() const;

  YAML::Node node_;
  std::string file_;
  std::string name_;
  int line_;
};

// The text of a file, at most of some megabytes. Throws SystemError where it cannot be read.
std::string read_yaml_text(const std::filesystem::path& file);
// Its top. Throws InputError, which names the file, on a text that is not YAML.
YamlValue parse_yaml(const std::string& text, const std::filesystem::path& file);

}  // namespace ropewalk
