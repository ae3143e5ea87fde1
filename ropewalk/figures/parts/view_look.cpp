#include "ropewalk/figures/parts/view_look.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "ropewalk/base/error.h"
#include "ropewalk/base/nearest.h"
#include "ropewalk/base/printable.h"

namespace ropewalk {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::max();

bool open_below(const IndexedView& indexed) {
  return indexed.statistic->low <= -kNoLimit && !indexed.view->absolute;
}

bool open_above(const IndexedView& indexed) { return indexed.statistic->high >= kNoLimit; }

double rounded_out(double value) {
  if (value == 0) return 0;
  const double step = round_step(value);
  const double rounded = std::copysign(std::ceil(std::abs(value) / step - 1e-9) * step, value);
  return std::isfinite(rounded) ? rounded : value;
}

// The key of the view to which a name belongs, where the name is a key of summary.json (mean_r_q,
// depth_r_q), a column of errors (r_q_se), or the absolute value of a number that is never negative
// (abs_r2cv_q); else the name without these affixes.
std::string bare_name(std::string_view name, const std::vector<IndexedView>& views) {
  if (name.empty()) return "";
  for (const IndexedView& indexed : views) {
    const StatisticView& view = *indexed.view;
    if (name == view.mean || name == view.spread || name == view.depth) return view.key;
  }
  for (const std::string_view prefix : {"mean_", "sd_", "depth_", "abs_"}) {
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  }
  if (name.ends_with("_se")) name.remove_suffix(3);
  return std::string(name);
}

// The first few keys that contain all words of a name, as logit_pos_share does for logit_share;
// else those that begin with the name.
std::vector<std::string> keys_with_words_of(const std::string& name,
                                            const std::vector<std::string_view>& keys) {
  constexpr size_t kFew = 4;
  std::vector<std::string> words(1);
  for (const char c : name) {
    if (c == '_') {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  if (words.front().size() < 2) return {};
  const auto has = [](std::string_view key, const std::string& word) {
    return ("_" + std::string(key) + "_").find("_" + word + "_") != std::string::npos;
  };
  std::vector<std::string> all, first;
  for (const std::string_view key : keys) {
    const bool every = std::all_of(words.begin(), words.end(),
                                   [&](const std::string& word) { return has(key, word); });
    if (every && all.size() < kFew) all.emplace_back(key);
    if (key.starts_with(words.front() + "_") && first.size() < kFew) first.emplace_back(key);
  }
  return all.empty() ? first : all;
}

}  // namespace

double round_step(double value) {
  const double rough = std::abs(value) / 5;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  const double part = rough / power;
  return power * (part < 1.5 ? 1 : part < 3.5 ? 2 : part < 7.5 ? 5 : 10);
}

std::string unknown_statistic_error(std::string_view key) {
  const std::vector<IndexedView> views = all_views();
  std::vector<std::string_view> keys;
  for (const IndexedView& indexed : views) keys.push_back(indexed.view->key);
  if (std::find(keys.begin(), keys.end(), key) != keys.end()) return "";
  const std::string name = printable_excerpt(std::string(key), 60);
  const std::string bare = bare_name(key, views);
  std::vector<std::string> near;
  if (std::find(keys.begin(), keys.end(), bare) != keys.end()) {
    near = {bare};
  } else {
    near = nearest_few(key, keys);
    if (near.empty()) near = nearest_few(bare, keys);
    if (near.empty()) near = keys_with_words_of(bare, keys);
  }
  if (near.empty()) {
    return fmt::format(
        "no statistic is named '{}'; their names are the columns of numbers in docs/formats.md, "
        "such as r2cv_q",
        name);
  }
  std::string names = near.back();
  if (near.size() > 1) {
    names = fmt::format("{} or {}", fmt::join(near.begin(), near.end() - 1, ", "), names);
  }
  return fmt::format("no statistic is named '{}'; did you mean {}?", name, names);
}

size_t find_view(std::string_view key) {
  if (const std::string problem = unknown_statistic_error(key); !problem.empty()) {
    throw UsageError("{}", problem);
  }
  const std::vector<IndexedView> views = all_views();
  const auto found = std::find_if(views.begin(), views.end(),
                                  [&](const auto& indexed) { return indexed.view->key == key; });
  return static_cast<size_t>(found - views.begin());
}

std::string view_name(const IndexedView& indexed) {
  if (indexed.statistic->per == Granularity::head) return indexed.view->name;
  const std::string& title = indexed.statistic->title;
  return indexed.view->absolute ? "|" + title + "|" : title;
}

std::string view_title(const IndexedView& indexed) {
  return view_name(indexed) + (indexed.statistic->per == Granularity::component ? " on PC0" : "");
}

std::string capital_title(const IndexedView& indexed) {
  std::string title = view_title(indexed);
  // Only words, not symbols such as r or r_q.
  const std::string word = title.substr(0, title.find(' '));
  if (word.size() > 1 && word.find('_') == std::string::npos && word[0] != '|') {
    title[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(title[0])));
  }
  return title;
}

std::string view_sentence(const IndexedView& indexed) {
  std::string text = indexed.statistic->definition;
  std::erase(text, '`');
  if (indexed.view->absolute) text = "absolute value of the " + text;
  if (!text.starts_with("r_") && !text.starts_with("mu_") && !text.starts_with("bias_")) {
    text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  }
  return text + ".";
}

bool has_limits(const IndexedView& indexed) { return !open_below(indexed) && !open_above(indexed); }

Limits value_limits(const IndexedView& indexed) {
  const double low = indexed.view->absolute ? 0 : indexed.statistic->low;
  return {open_below(indexed) ? -INFINITY : low,
          open_above(indexed) ? INFINITY : indexed.statistic->high};
}

Limits view_limits(const IndexedView& indexed, double least, double most) {
  const StatisticView& view = *indexed.view;
  Limits limits{view.low, view.high};
  if (std::isnan(least) || std::isnan(most)) return limits;
  const double reach = std::max(most, 0.0);
  const bool fits = reach <= view.high && reach >= view.high / 2;
  if (open_above(indexed) && !fits) limits.high = rounded_out(reach);
  if (open_below(indexed) && least < view.low) limits.low = rounded_out(least);
  if (limits.low == limits.high) limits.high = view.high;  // all numbers are 0
  return limits;
}

}  // namespace ropewalk
