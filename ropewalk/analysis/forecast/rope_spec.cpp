#include "ropewalk/analysis/forecast/rope_spec.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>

#include "ropewalk/analysis/ablation/refuse_name.h"
#include "ropewalk/base/error.h"
#include "ropewalk/base/printable.h"

namespace ropewalk {
namespace {

constexpr const char* kExpected =
    "none, nope, theta:500000, theta:x8, linear:4, yarn:4, llama3:8, longrope:FILE or still:4096";

std::optional<double> number_of(const std::string& text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec != std::errc() || read.ptr != end || !std::isfinite(number)) return std::nullopt;
  return number;
}

double theta_of(const RopeSpec& spec, const std::string& text) {
  const std::optional<double> theta = number_of(text);
  if (!theta || *theta <= 0) {
    refuse_name("rope", spec.text,
                "found '{}', expected a theta above 0, such as theta:500000, or a factor of the "
                "model's own, such as theta:x8",
                printable_excerpt(text, kShownName));
  }
  return *theta;
}

double factor_of(const RopeSpec& spec, const std::string& kind, const std::string& text) {
  const std::optional<double> factor = number_of(text);
  if (!factor || *factor < 1) {
    refuse_name("rope", spec.text,
                "found '{}', expected the factor by which the context grows, at least 1, such as "
                "{}:4",
                printable_excerpt(text, kShownName), kind);
  }
  return *factor;
}

double cut_of(const RopeSpec& spec, const std::string& text) {
  if (text == "inf") return std::numeric_limits<double>::infinity();
  const std::optional<double> cut = number_of(text);
  if (!cut || *cut <= 0) {
    refuse_name("rope", spec.text,
                "found '{}', expected a wavelength in tokens above 0, such as 4096, or inf",
                printable_excerpt(text, kShownName));
  }
  return *cut;
}

}  // namespace

RopeSpec parse_rope_spec(const std::string& given) {
  using Kind = RopeSpec::Kind;
  const size_t first = given.find_first_not_of(' ');
  RopeSpec spec;
  if (first != given.npos) spec.text = given.substr(first, given.find_last_not_of(' ') - first + 1);
  const size_t colon = spec.text.find(':');
  const std::string kind = spec.text.substr(0, colon);
  const std::string rest = colon == spec.text.npos ? "" : spec.text.substr(colon + 1);
  if (kind == "none" && colon == spec.text.npos) {
    spec.kind = Kind::none;
  } else if (kind == "nope" && colon == spec.text.npos) {
    spec.kind = Kind::nope;
  } else if (kind == "theta" && !rest.empty()) {
    spec.kind = rest.front() == 'x' ? Kind::theta_times : Kind::theta;
    spec.number = theta_of(spec, rest.front() == 'x' ? rest.substr(1) : rest);
  } else if ((kind == "linear" || kind == "yarn" || kind == "llama3") && !rest.empty()) {
    spec.kind = kind == "linear" ? Kind::linear : kind == "yarn" ? Kind::yarn : Kind::llama3;
    spec.number = factor_of(spec, kind, rest);
  } else if (kind == "longrope" && !rest.empty()) {
    spec.kind = Kind::longrope;
    spec.file = rest;
  } else if (kind == "still" && !rest.empty()) {
    spec.kind = Kind::still;
    spec.number = cut_of(spec, rest);
  } else {
    refuse_name("rope", spec.text, "is not a RoPE setting; expected {}", kExpected);
  }
  return spec;
}

std::vector<RopeSpec> parse_rope_specs(const std::vector<std::string>& texts) {
  std::vector<RopeSpec> specs;
  for (const std::string& text : texts) {
    RopeSpec spec = parse_rope_spec(text);
    const bool known = std::any_of(specs.begin(), specs.end(),
                                   [&](const RopeSpec& one) { return one.text == spec.text; });
    if (!known) specs.push_back(std::move(spec));
  }
  if (specs.empty()) {
    throw UsageError(Field{"rope"}, ": the list is empty; expected settings such as {}", kExpected);
  }
  return specs;
}

}  // namespace ropewalk
