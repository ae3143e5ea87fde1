#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "ropewalk/base/json.h"

namespace ropewalk {

// A value inside a JSON file that knows where it stands, so that whatever is wrong with it is
// refused by name. Refers to the value; every accessor throws InputError.
class JsonPart {
 public:
  // `source` names the file and `path` the value in it, e.g. "pre_tokenizer.pretokenizers[0]"; both
  // open every message.
  explicit JsonPart(const Json& value, std::string source, std::string path = "")
      : value_(value), source_(std::move(source)), path_(std::move(path)) {}

  const Json& value() const { return value_; }
  // "tokenizer.json: pre_tokenizer"
  std::string where() const { return path_.empty() ? source_ : source_ + ": " + path_; }

  // Members and elements. `find` gives nothing where the member is absent or null.
  JsonPart at(std::string_view key) const;
  std::optional<JsonPart> find(std::string_view key) const;
  JsonPart item(size_t index) const;
  size_t size() const;  // of an array

  std::string string() const;
  bool boolean() const;
  int64_t integer(int64_t low, int64_t high) const;
  char32_t character() const;  // a string of one character

  // Refuses members other than these.
  void allow_only(std::initializer_list<std::string_view> keys) const;
  // Refuses `found`, saying what would do.
  [[noreturn]] void refuse_value(std::string_view found, std::string_view supported) const;
  // Refuses what the tokenizers library would take, saying how to do without.
  [[noreturn]] void refuse_unsupported(std::string_view what) const;
  [[noreturn]] void refuse(std::string_view what) const;

 private:
  const Json& object() const;
  std::string member_path(std::string_view key) const;
  std::string complaint(std::string_view what) const;

  const Json& value_;
  std::string source_;
  std::string path_;
};

}  // namespace ropewalk
