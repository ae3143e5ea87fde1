#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ropewalk/analysis/table/taxonomy.h"
#include "ropewalk/moments/head_sampling.h"

namespace ropewalk {

// A set of heads, parsed from its name (docs/cli.md): class:NAME, top:COLUMN:10%,
// bottom:COLUMN:50%, bottom:COLUMN:50%:kv, layer:7, or a list such as 3.0,3.1.
struct SetName {
  enum class Kind { of_class, top, bottom, layer, list };

  std::string text;  // without spaces
  Kind kind = Kind::list;
  HeadClass head_class = HeadClass::mixed;
  std::string column;  // the key of a view of a statistic (analysis/statistics/statistic.h):
                       // dist_range, abs_r_k, …
  double share = 0;    // share of the heads that have this number
  bool by_kv = false;  // KV heads are ranked, each by the largest number among its query heads
  int64_t layer = 0;
  std::vector<QueryHead> heads;  // for a list, in order

  // Whether the set depends on numbers of the capture.
  bool chosen() const { return kind != Kind::layer && kind != Kind::list; }
};

// Throws UsageError about the field `heads` where the text is not the name of a set: an unknown
// class or column, or an invalid share.
SetName parse_set_name(const std::string& text);

}  // namespace ropewalk
