#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ropewalk/model/edit.h"
#include "ropewalk/moments/head_sampling.h"

namespace ropewalk {

// What sets are drawn from: query heads, or KV heads with the query heads that read them. Both are
// told apart by their layer and their number in it.
struct HeadUnits {
  bool by_kv = false;
  std::map<QueryHead, std::vector<QueryHead>> members;  // of each unit, its query heads

  HeadSet heads_of(const std::vector<QueryHead>& units) const;
};

// Of these query heads, `group` of which read each KV head. A KV head that is not read by all of
// its query heads here is left out.
HeadUnits units_of(const std::vector<QueryHead>& heads, bool by_kv, int64_t group);

// "3.0,3.1": LAYER.HEAD, in order.
std::string list_heads(const HeadSet& heads);
int64_t count_heads(const HeadSet& heads);
bool contains(const HeadSet& heads, const QueryHead& head);

}  // namespace ropewalk
