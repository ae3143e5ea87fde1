#include "ropewalk/study/experiment/yaml_map.h"

#include <fmt/ranges.h>
#include <yaml-cpp/eventhandler.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <sstream>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/mapped_file.h"
#include "ropewalk/base/printable.h"
#include "ropewalk/base/utf8.h"

namespace ropewalk {
namespace {

// Plain scalars only: "12" in quotes is a text.
bool is_plain(const YAML::Node& node) { return node.IsScalar() && node.Tag() != "!"; }

struct IgnoreEvents : YAML::EventHandler {
  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

// The number of documents: 0, 1, or 2 for more. On some texts YAML::LoadAll does not end.
int count_documents(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  IgnoreEvents ignore;
  int count = 0;
  while (count < 2 && parser.HandleNextDocument(ignore)) ++count;
  return count;
}

template <typename T>
bool parse_whole(const std::string& text, T& value) {
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  return result.ec == std::errc() && result.ptr == end && !text.empty();
}

}  // namespace

YamlValue::YamlValue(YAML::Node node, std::string file, std::string name, int key_line)
    : node_(std::move(node)),
      file_(std::move(file)),
      name_(std::move(name)),
      line_(node_.IsNull() && key_line > 0 ? key_line : node_.Mark().line + 1) {}

std::string YamlValue::where() const { return fmt::format("{}:{}", file_, line()); }

void YamlValue::fail(const std::string& text) const {
  const std::string name = name_.empty() ? "" : name_ + ": ";
  throw InputError("{}: {}{}", where(), name, text);
}

std::string YamlValue::found() const {
  if (node_.IsMap()) return "a map";
  if (node_.IsSequence()) return "a list";
  if (node_.IsNull()) return "nothing";
  return fmt::format("'{}'", printable(node_.Scalar()));
}

void YamlValue::expected(const std::string& what) const {
  fail(fmt::format("found {}, expected {}", found(), what));
}

void YamlValue::expected_number(const std::string& what) const {
  double number = 0;
  if (node_.IsScalar() && !is_plain(node_) && parse_whole(node_.Scalar(), number)) {
    fail(
        fmt::format("found {} in quotes, expected {}; write it without the quotes", found(), what));
  }
  expected(what);
}

std::string YamlValue::text() const {
  const std::string text = node_.IsScalar() ? node_.Scalar() : "";
  if (text.find_first_not_of(' ') == std::string::npos) expected("a text");
  const auto control = [](char c) { return c == '\x7f' || (c >= 0 && c < ' '); };
  if (std::any_of(text.begin(), text.end(), control)) {
    fail(fmt::format("'{}' holds a control character; remove it", printable_excerpt(text, 80)));
  }
  return text;
}

std::string YamlValue::title() const {
  std::string title = text();
  if (title.size() <= kLongestTitle) return title;
  fail(fmt::format("found a text of {} bytes, expected at most {}", title.size(), kLongestTitle));
}

int64_t YamlValue::integer(int64_t least, int64_t most) const {
  int64_t value = 0;
  if (!is_plain(node_) || !parse_whole(node_.Scalar(), value) || value < least || value > most) {
    expected_number(most == INT64_MAX ? fmt::format("a whole number of at least {}", least)
                                      : fmt::format("a whole number from {} to {}", least, most));
  }
  return value;
}

double YamlValue::positive() const {
  double value = 0;
  if (!is_plain(node_) || !parse_whole(node_.Scalar(), value) || !(value > 0) ||
      !std::isfinite(value)) {
    expected_number("a number above 0");
  }
  return value;
}

bool YamlValue::flag() const {
  if (is_plain(node_) && node_.Scalar() == "true") return true;
  if (is_plain(node_) && node_.Scalar() == "false") return false;
  expected("true or false");
}

std::string YamlValue::word(const std::vector<std::string_view>& words) const {
  const std::string given = node_.IsScalar() ? node_.Scalar() : "";
  if (std::find(words.begin(), words.end(), given) != words.end()) return given;
  expected(fmt::format("{}", fmt::join(words, ", ")));
}

std::vector<YamlValue> YamlValue::list() const {
  if (!node_.IsSequence()) expected("a list");
  std::vector<YamlValue> values;
  for (const YAML::Node& node : node_) values.emplace_back(node, file_, name_);
  return values;
}

Json YamlValue::json() const {
  int values_left = 1000;
  return json(*this, values_left);
}

// The number of values is limited, because an alias may stand for a value that contains itself, or
// for many others.
Json YamlValue::json(const YamlValue& top, int& values_left) const {
  if (--values_left < 0) top.fail("holds too many values, or itself through an alias");
  if (node_.IsNull()) return {};
  if (node_.IsMap()) {
    Json object = Json::object();
    for (const auto& pair : node_) {
      const std::string key = pair.first.Scalar();
      object[key] = YamlValue(pair.second, file_, name_ + "." + key).json(top, values_left);
    }
    return object;
  }
  if (node_.IsSequence()) {
    Json array = Json::array();
    for (const YamlValue& value : list()) array.push_back(value.json(top, values_left));
    return array;
  }
  const std::string& scalar = node_.Scalar();
  int64_t whole = 0;
  double number = 0;
  if (!is_plain(node_)) return scalar;
  if (scalar == "true" || scalar == "false") return scalar == "true";
  if (parse_whole(scalar, whole)) return whole;
  if (parse_whole(scalar, number) && std::isfinite(number)) return number;
  return scalar;
}

void YamlValue::map(const std::vector<Key>& keys) const {
  std::vector<std::string_view> names;
  for (const Key& key : keys) names.push_back(key.name);
  if (!node_.IsMap()) expected(fmt::format("a map of {}", fmt::join(names, ", ")));
  std::set<std::string> seen;
  for (const auto& pair : node_) {
    const YamlValue at_key(pair.first, file_, name_);
    const std::string name = pair.first.IsScalar() ? pair.first.Scalar() : "";
    const auto key =
        std::find_if(keys.begin(), keys.end(), [&](const Key& k) { return k.name == name; });
    if (key == keys.end()) {
      const std::string near = nearest(name, names);
      at_key.fail(fmt::format("key '{}' is unknown; {}", printable(name),
                              near.empty()
                                  ? fmt::format("known keys are {}", fmt::join(names, ", "))
                                  : fmt::format("did you mean '{}'?", near)));
    }
    if (!seen.insert(name).second) at_key.fail(fmt::format("duplicate key '{}'; remove one", name));
    key->read(
        YamlValue(pair.second, file_, name_.empty() ? name : name_ + "." + name, at_key.line()));
  }
  for (const Key& key : keys) {
    if (key.required && !seen.contains(std::string(key.name))) {
      fail(fmt::format("key '{}' is missing", key.name));
    }
  }
}

std::string read_yaml_text(const std::filesystem::path& file) {
  constexpr int64_t kLimit = int64_t{4} << 20;
  return read_text_file(file, kLimit);
}

YamlValue parse_yaml(const std::string& text, const std::filesystem::path& file) {
  const auto refuse = [&](std::string::const_iterator at, const char* what, const char* remedy) {
    throw InputError("{}:{}: {}: found byte 0x{:02x}; {}", file.string(),
                     std::count(text.begin(), at, '\n') + 1, what, static_cast<unsigned char>(*at),
                     remedy);
  };
  if (const auto bad = invalid_utf8_offset(text)) {
    refuse(text.begin() + static_cast<int64_t>(*bad), "is not UTF-8", "save the file as UTF-8");
  }
  // YAML forbids these characters. yaml-cpp uses some of them internally, and turns them into texts
  // that are not valid UTF-8.
  const auto control = std::find_if(text.begin(), text.end(), [](char c) {
    return c == '\x7f' || (c >= 0 && c < ' ' && c != '\t' && c != '\n' && c != '\r');
  });
  if (control != text.end()) refuse(control, "holds a control character", "remove it");
  try {
    const int documents = count_documents(text);
    if (documents == 0) throw InputError("{}: is empty", file.string());
    if (documents > 1) {
      throw InputError(
          "{}: holds several YAML documents, expected one; remove the '---' between them",
          file.string());
    }
    return {YAML::Load(text), file.string(), ""};
  } catch (const YAML::Exception& error) {
    throw InputError("{}:{}: is not YAML: {}", file.string(), error.mark.line + 1, error.msg);
  }
}

}  // namespace ropewalk
