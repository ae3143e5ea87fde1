// Whether a row's logits hang on where a key stands or on what it is
// (kernels/rows/moved_keys.h).

#include "ropewalk/analysis/replicates/rows.h"
#include "ropewalk/analysis/statistics/row_statistic.h"

namespace ropewalk::statistic {
namespace {

at::Tensor compute(const HeadReplicates& head) {
  const auto rows = row_replicates(head);
  if (!rows) return at::full({head.blocks() + 1, 3}, kUndefined, at::kDouble);
  const at::Tensor index = rows->ratio(RowNumber::positional, RowNumber::moved_rows);
  const at::Tensor key = rows->ratio(RowNumber::symbolic, RowNumber::moved_rows);
  return at::stack({index, key, 1 - index - key}, 1);
}

bool still_rows(const HeadReplicates& head) {
  const auto rows = row_replicates(head);
  return rows && rows->sum(RowNumber::still_rows)[0].item<double>() > 0;
}

}  // namespace

const std::vector<Statistic>& place_or_key() {
  static const std::vector<Statistic> kStatistics = [] {
    std::vector<Statistic> list = of_rows(computed_by(
        compute,
        {head_statistic("positional", "logits by place alone", Hue::both,
                        "share of the variance of a token's logits that the places of keys alone "
                        "make, over every pairing of places and keys that it sees",
                        ChangeScale::share, -1, 1, true),
         head_statistic("symbolic", "logits by key alone", Hue::both,
                        "share of the variance of a token's logits that the keys before RoPE alone "
                        "make, over every pairing of places and keys that it sees",
                        ChangeScale::share, -1, 1, true),
         head_statistic("pairing", "logits by place and key together", Hue::both,
                        "what `positional` and `symbolic` leave of the variance of a token's "
                        "logits: which key stands where",
                        ChangeScale::part, -1, 3)}));
    for (Statistic& one : list) {
      one.views.front().low = 0;
      one.views.front().high = 1;
    }
    list.front().flags = {
        {"still_rows",
         "Some rows' logits do not vary: `positional`, `symbolic` and `pairing` are of the others.",
         still_rows}};
    return list;
  }();
  return kStatistics;
}

}  // namespace ropewalk::statistic
