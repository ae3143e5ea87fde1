#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ropewalk/analysis/table/taxonomy.h"
#include "ropewalk/moments/head_sampling.h"

namespace ropewalk {

// A set of heads by its name (docs/cli.md): class:NAME, top:COLUMN:10%, bottom:COLUMN:50%,
// bottom:COLUMN:50%:kv, layer:7, or a list such as 3.0,3.1.
struct SetName {
  enum class Kind { of_class, top, bottom, layer, list };

  std::string text;  // without spaces
  Kind kind = Kind::list;
  HeadClass head_class = HeadClass::mixed;
  std::string
      column;  // the key of a reading (analysis/statistics/statistic.h): dist_range, abs_r_k, …
  double share = 0;    // of the heads that have a number there
  bool by_kv = false;  // KV heads are ranked, each by its largest query head
  int64_t layer = 0;
  std::vector<QueryHead> heads;  // of a list, in order

  // Whether the capture's numbers decide which heads it holds.
  bool chosen() const { return kind != Kind::layer && kind != Kind::list; }
};

// Throws UsageError about the field `heads` where it is no such name: an unknown class or column, a
// share that is none.
SetName parse_set_name(const std::string& text);

}  // namespace ropewalk
