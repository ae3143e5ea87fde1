#include "ropewalk/analysis/ablation/set_name.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "ropewalk/analysis/ablation/refuse_name.h"
#include "ropewalk/analysis/statistics/statistic.h"
#include "ropewalk/base/error.h"
#include "ropewalk/base/nearest.h"
#include "ropewalk/base/printable.h"

namespace ropewalk {
namespace {

std::vector<std::string> parts_of(const std::string& text, char separator) {
  std::vector<std::string> parts{""};
  for (const char letter : text) {
    if (letter == separator) {
      parts.emplace_back();
    } else {
      parts.back() += letter;
    }
  }
  return parts;
}

template <typename Number>
std::optional<Number> whole(const std::string& text) {
  Number number = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec != std::errc() || read.ptr != end || number < 0) return {};
  return number;
}

void read_class(SetName& name, const std::string& class_text) {
  std::vector<std::string_view> known;
  for (const HeadClass one : kHeadClasses) {
    known.push_back(class_name(one));
    if (known.back() != class_text) continue;
    name.head_class = one;
    return;
  }
  refuse_name("heads", name.text, "no class is called '{}'; expected one of {}",
              printable_excerpt(class_text, kShownName), fmt::join(known, ", "));
}

void read_column(SetName& name, const std::string& column) {
  std::vector<std::string_view> known;
  for (const IndexedView& one : all_views()) {
    if (!one.view->key.empty()) known.push_back(one.view->key);
    if (one.statistic->key == column || one.view->key == column) {
      name.column = column;
      return;
    }
  }
  const std::string near = nearest(column, known);
  refuse_name("heads", name.text, "no column of heads.csv or qk.csv is called '{}'{}",
              printable_excerpt(column, kShownName),
              near.empty() ? "; docs/formats.md lists them" : "; did you mean " + near + "?");
}

void read_share(SetName& name, const std::string& text) {
  double percent = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, percent);
  const bool is_share = read.ec == std::errc() && read.ptr + 1 == end && *read.ptr == '%' &&
                        std::isfinite(percent) && percent > 0 && percent <= 100;
  if (!is_share) {
    refuse_name("heads", name.text,
                "found '{}', expected a share of the heads above 0%, such as 10%",
                printable_excerpt(text, kShownName));
  }
  name.share = percent / 100;
}

// The rest of top:COLUMN:10% or bottom:COLUMN:50%:kv.
void read_ranked(SetName& name, const std::vector<std::string>& parts) {
  const bool by_kv = parts.size() == 4 && parts[3] == "kv";
  if (parts.size() != 3 && !by_kv) {
    refuse_name("heads", name.text,
                "expected {0}:COLUMN:SHARE% or {0}:COLUMN:SHARE%:kv, such as {0}:dist_range:10%",
                parts[0]);
  }
  name.by_kv = by_kv;
  read_column(name, parts[1]);
  read_share(name, parts[2]);
}

void read_list(SetName& name) {
  for (const std::string& part : parts_of(name.text, ',')) {
    const std::vector<std::string> numbers = parts_of(part, '.');
    const auto layer = numbers.size() == 2 ? whole<int32_t>(numbers[0]) : std::nullopt;
    const auto head = numbers.size() == 2 ? whole<int32_t>(numbers[1]) : std::nullopt;
    if (!layer || !head) {
      refuse_name(
          "heads", name.text,
          "'{}' is no set of heads; expected class:NAME, top:COLUMN:10%, bottom:COLUMN:50%:kv, "
          "layer:7 or heads as LAYER.HEAD, such as 3.0,3.1",
          printable_excerpt(part, kShownName));
    }
    name.heads.push_back({*layer, *head});
  }
  std::sort(name.heads.begin(), name.heads.end());
  name.heads.erase(std::unique(name.heads.begin(), name.heads.end()), name.heads.end());
}

}  // namespace

SetName parse_set_name(const std::string& text) {
  SetName name;
  std::copy_if(text.begin(), text.end(), std::back_inserter(name.text),
               [](char letter) { return letter != ' '; });
  if (name.text.empty()) refuse_name("heads", text, "names no heads");
  const std::vector<std::string> parts = parts_of(name.text, ':');
  if (parts[0] == "class" && parts.size() == 2) {
    name.kind = SetName::Kind::of_class;
    read_class(name, parts[1]);
  } else if (parts[0] == "top" || parts[0] == "bottom") {
    name.kind = parts[0] == "top" ? SetName::Kind::top : SetName::Kind::bottom;
    read_ranked(name, parts);
  } else if (parts[0] == "layer" && parts.size() == 2) {
    name.kind = SetName::Kind::layer;
    const auto layer = whole<int32_t>(parts[1]);
    if (!layer)
      refuse_name("heads", name.text, "found '{}', expected a layer, such as 7",
                  printable_excerpt(parts[1], kShownName));
    name.layer = *layer;
  } else {
    read_list(name);
  }
  return name;
}

}  // namespace ropewalk
