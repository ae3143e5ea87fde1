#include "ropewalk/analysis/ablation/head_units.h"

#include <fmt/format.h>

#include <algorithm>

namespace ropewalk {

HeadSet HeadUnits::heads_of(const std::vector<QueryHead>& units) const {
  HeadSet heads;
  for (const QueryHead& unit : units) {
    for (const QueryHead& head : members.at(unit)) heads[head.layer].push_back(head.q_head);
  }
  for (auto& [layer, list] : heads) std::sort(list.begin(), list.end());
  return heads;
}

HeadUnits units_of(const std::vector<QueryHead>& heads, bool by_kv, int64_t group) {
  HeadUnits units;
  units.by_kv = by_kv;
  for (const QueryHead& head : heads) {
    const auto number = by_kv ? static_cast<int32_t>(head.q_head / group) : head.q_head;
    units.members[{head.layer, number}].push_back(head);
  }
  if (!by_kv) return units;
  std::erase_if(units.members,
                [&](const auto& unit) { return static_cast<int64_t>(unit.second.size()) < group; });
  return units;
}

std::string list_heads(const HeadSet& heads) {
  std::string text;
  for (const auto& [layer, list] : heads) {
    for (const int64_t head : list) {
      text += fmt::format("{}{}.{}", text.empty() ? "" : ",", layer, head);
    }
  }
  return text;
}

int64_t count_heads(const HeadSet& heads) {
  int64_t count = 0;
  for (const auto& [layer, list] : heads) count += static_cast<int64_t>(list.size());
  return count;
}

bool contains(const HeadSet& heads, const QueryHead& head) {
  const auto found = heads.find(head.layer);
  return found != heads.end() &&
         std::binary_search(found->second.begin(), found->second.end(), int64_t{head.q_head});
}

}  // namespace ropewalk
