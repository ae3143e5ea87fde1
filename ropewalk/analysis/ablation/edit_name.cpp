#include "ropewalk/analysis/ablation/edit_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "ropewalk/analysis/ablation/refuse_name.h"
#include "ropewalk/base/error.h"
#include "ropewalk/base/printable.h"

namespace ropewalk {
namespace {

int64_t window_of(const EditName& edit, const std::string& text) {
  int64_t tokens = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, tokens);
  if (read.ec != std::errc() || read.ptr != end || tokens < 1) {
    refuse_name("edit", edit.text,
                "found '{}', expected a whole number of tokens of at least 1, such as window:128",
                printable_excerpt(text, kShownName));
  }
  return tokens;
}

double cut_of(const EditName& edit, const std::string& text) {
  if (text == "inf") return std::numeric_limits<double>::infinity();
  double cut = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, cut);
  if (read.ec != std::errc() || read.ptr != end || !std::isfinite(cut) || cut <= 0) {
    refuse_name("edit", edit.text,
                "found '{}', expected a wavelength in tokens above 0, such as 4096, or inf",
                printable_excerpt(text, kShownName));
  }
  return cut;
}

}  // namespace

EditName parse_edit_name(const std::string& given) {
  using Kind = EditName::Kind;
  EditName edit;
  std::copy_if(given.begin(), given.end(), std::back_inserter(edit.text),
               [](char letter) { return letter != ' '; });
  const size_t colon = edit.text.find(':');
  const std::string kind = edit.text.substr(0, colon);
  const std::string rest = colon == edit.text.npos ? "" : edit.text.substr(colon + 1);
  const bool bare = colon == edit.text.npos;
  if (kind == "distance" && (bare || rest == "mean")) {
    edit.kind = Kind::distance;
    edit.keep_mass = bare;
  } else if (kind == "window" && !bare) {
    edit.kind = Kind::window;
    edit.number = static_cast<double>(window_of(edit, rest));
  } else if ((kind == "still" || kind == "zero-band") && !bare) {
    edit.kind = kind == "still" ? Kind::still : Kind::zero_band;
    edit.number = cut_of(edit, rest);
  } else if (kind == "flatten" && (bare || rest == "q" || rest == "k")) {
    edit.kind = Kind::flatten;
    edit.q = rest != "k";
    edit.k = rest != "q";
  } else if (kind == "axis" && bare) {
    edit.kind = Kind::axis;
  } else if (kind == "head" && (bare || rest == "zero")) {
    edit.kind = Kind::head;
    edit.zero = !bare;
  } else {
    refuse_name("edit", edit.text,
                "is no edit; expected distance, distance:mean, window:W, still:CUT, zero-band:CUT, "
                "flatten, flatten:q, flatten:k, axis, head or head:zero");
  }
  return edit;
}

std::vector<EditName> parse_edit_names(const std::vector<std::string>& texts) {
  std::vector<EditName> edits;
  for (const std::string& text : texts) {
    EditName edit = parse_edit_name(text);
    const bool known = std::any_of(edits.begin(), edits.end(),
                                   [&](const EditName& one) { return one.text == edit.text; });
    if (!known) edits.push_back(std::move(edit));
  }
  if (edits.empty()) throw UsageError(Field{"edit"}, ": names none; expected one such as distance");
  return edits;
}

}  // namespace ropewalk
