#include "ropewalk/text/code_point_partition.h"

#include <algorithm>
#include <map>
#include <stdexcept>

namespace ropewalk {

CodePointPartition::CodePointPartition(std::span<const CodePointSet> sets) {
  // Membership changes only where a range of some set begins or ends.
  struct Change {
    char32_t at;
    size_t set;
  };
  std::vector<Change> changes;
  for (size_t set = 0; set < sets.size(); ++set) {
    for (const CodePointRange& member : sets[set].ranges()) {
      changes.push_back({member.first, set});
      changes.push_back({member.last + 1, set});
    }
  }
  std::sort(changes.begin(), changes.end(),
            [](const Change& a, const Change& b) { return a.at < b.at; });

  std::vector<uint8_t> class_of(kLastCodePoint + 1);
  std::map<std::vector<bool>, uint8_t> known;
  std::vector<bool> current(sets.size());
  char32_t begin = 0;
  for (size_t i = 0; begin <= kLastCodePoint;) {
    for (; i < changes.size() && changes[i].at == begin; ++i) {
      current[changes[i].set] = !current[changes[i].set];
    }
    const char32_t end = i < changes.size() ? changes[i].at : kLastCodePoint + 1;
    if (known.size() == 256 && !known.contains(current)) {
      throw std::length_error("more than 256 classes of characters");
    }
    const auto [entry, is_new] = known.try_emplace(current, static_cast<uint8_t>(known.size()));
    if (is_new) members_.push_back(current);
    std::fill(class_of.begin() + begin, class_of.begin() + end, entry->second);
    begin = end;
  }

  std::map<std::vector<uint8_t>, uint16_t> pages;
  for (size_t first = 0; first <= kLastCodePoint; first += 256) {
    const auto at = class_of.begin() + static_cast<std::ptrdiff_t>(first);
    const auto [entry, is_new] =
        pages.try_emplace(std::vector<uint8_t>(at, at + 256), static_cast<uint16_t>(pages.size()));
    if (is_new) pages_.insert(pages_.end(), at, at + 256);
    page_of_.push_back(entry->second);
  }
}

}  // namespace ropewalk
