#include "ropewalk/base/nearest.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "ropewalk/base/utf8.h"

namespace ropewalk {
namespace {

// The number of insertions, deletions and replacements that turn one word into the other.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

constexpr size_t kLongestTypo = 200;  // a comparison takes the product of both lengths

// The most differences that a typing mistake makes; with more than half of its letters changed, a
// word is another one.
size_t most_differences(std::string_view word) {
  return std::max(std::min<size_t>(2, word.size() / 2), word.size() / 3);
}

}  // namespace

std::vector<std::string> nearest_few(std::string_view word,
                                     const std::vector<std::string_view>& candidates) {
  constexpr size_t kFew = 4;
  if (word.empty() || word.size() > kLongestTypo) return {};
  const std::string wanted = lower_case(word);
  // (whether `word` is not inside it, distance, name)
  std::vector<std::tuple<bool, size_t, std::string>> found;
  for (const std::string_view candidate : candidates) {
    const std::string lower = lower_case(candidate);
    const size_t distance = edit_distance(wanted, lower);
    const bool inside = wanted.size() > 2 && lower.find(wanted) != std::string::npos;
    if (inside || distance <= most_differences(word))
      found.emplace_back(!inside, distance, candidate);
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return std::pair(std::get<0>(a), std::get<1>(a)) < std::pair(std::get<0>(b), std::get<1>(b));
  });
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(kFew, found.size()); ++i) names.push_back(std::get<2>(found[i]));
  return names;
}

std::string nearest(std::string_view word, const std::vector<std::string_view>& candidates) {
  if (word.size() > kLongestTypo) return "";
  std::string best;
  size_t least = most_differences(word) + 1;
  for (const std::string_view candidate : candidates) {
    const size_t distance = edit_distance(lower_case(word), lower_case(candidate));
    if (distance < least) {
      least = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace ropewalk
