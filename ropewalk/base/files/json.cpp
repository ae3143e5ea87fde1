#include "ropewalk/base/files/json.h"

#include <cmath>
#include <unordered_set>
#include <vector>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/mapped_file.h"
#include "ropewalk/base/printable.h"

namespace ropewalk {

Json parse_json(std::string_view text, const std::string& source, int max_depth) {
  std::vector<std::unordered_set<std::string>> keys;  // one set per open object
  const auto check = [&](int depth, Json::parse_event_t event, Json& value) {
    switch (event) {
      case Json::parse_event_t::object_start:
        keys.emplace_back();
        [[fallthrough]];
      case Json::parse_event_t::array_start:
        if (depth >= max_depth) {
          throw InputError("{}: JSON is nested deeper than {} levels", source, max_depth);
        }
        break;
      case Json::parse_event_t::key:
        if (!keys.back().insert(value.get<std::string>()).second) {
          throw InputError("{}: duplicate key '{}'", source, value.get<std::string>());
        }
        break;
      case Json::parse_event_t::object_end:
        keys.pop_back();
        break;
      default:
        break;
    }
    return true;
  };
  try {
    return Json::parse(text, check);
  } catch (const Json::exception& error) {
    // The library's text starts with an id in brackets that means nothing to a user.
    std::string_view what = error.what();
    if (const auto end = what.find("] "); end != std::string_view::npos)
      what.remove_prefix(end + 2);
    // The library's text ends with what was read last, which may be the whole file.
    constexpr size_t kExcerpt = 300;
    throw InputError("{}: not valid JSON: {}", source, printable_excerpt(what, kExcerpt));
  }
}

Json read_json_file(const std::filesystem::path& path) {
  constexpr int64_t kLimit = int64_t{256} << 20;
  return parse_json(read_text_file(path, kLimit), path.string());
}

Json number_or_null(double value) { return std::isnan(value) ? Json() : Json(value); }

Json read_json_or_null(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return {};
  try {
    return read_json_file(path);
  } catch (const InputError&) {
    return {};
  }
}

}  // namespace ropewalk
