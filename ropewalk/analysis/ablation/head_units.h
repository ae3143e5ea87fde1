#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ropewalk/model/edit.h"
#include "ropewalk/moments/head_sampling.h"

namespace ropewalk {

// The units from which sets are drawn: query heads, or KV heads with the query heads that read
// them. A unit is identified by its layer and its number in the layer.
struct HeadUnits {
  bool by_kv = false;
  std::map<QueryHead, std::vector<QueryHead>> members;  // per unit, its query heads

  HeadSet heads_of(const std::vector<QueryHead>& units) const;
};

// Groups these query heads into units; `group` query heads read each KV head. A KV head is left out
// where some of its query heads are not in the list.
HeadUnits units_of(const std::vector<QueryHead>& heads, bool by_kv, int64_t group);

// Formats heads as LAYER.HEAD, in order: "3.0,3.1".
std::string list_heads(const HeadSet& heads);
int64_t count_heads(const HeadSet& heads);
bool contains(const HeadSet& heads, const QueryHead& head);

}  // namespace ropewalk
