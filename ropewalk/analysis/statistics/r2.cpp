// How well the whole vector predicts the position, without choosing an axis.

#include "ropewalk/analysis/replicates/position_fit.h"
#include "ropewalk/analysis/statistics/statistic.h"

namespace ropewalk::statistic {
namespace {

at::Tensor compute(const HeadReplicates& head) {
  const PositionFit q = position_fit(head.queries), k = position_fit(head.keys);
  // Where there are hardly more tokens than dimensions, rounding makes a perfect fit exceed 1.
  return at::stack({q.r2_cv, k.r2_cv, q.r2.clamp_max(1), k.r2.clamp_max(1)}, 1);
}

bool dropped(const HeadReplicates& head) {
  return position_fit(head.queries).dropped || position_fit(head.keys).dropped;
}

}  // namespace

const std::vector<Statistic>& r2() {
  static const std::vector<Statistic> kStatistics = [] {
    constexpr double kAny = std::numeric_limits<double>::max();
    std::vector<Statistic> list = computed_by(
        compute,
        {head_statistic("r2cv_q", "R² of queries, cross-validated", Hue::queries,
                        "share of the variance of token position that a linear fit to queries of "
                        "other blocks predicts; below 0 where it predicts worse than the mean",
                        ChangeScale::r_squared, -kAny, 1, true),
         head_statistic("r2cv_k", "R² of keys, cross-validated", Hue::keys,
                        "share of the variance of token position that a linear fit to keys of "
                        "other blocks predicts; below 0 where it predicts worse than the mean",
                        ChangeScale::r_squared, -kAny, 1, true),
         head_statistic("r2_q", "R² of queries", Hue::queries,
                        "squared multiple correlation of token position with the query",
                        ChangeScale::r_squared, 0, 1),
         head_statistic("r2_k", "R² of keys", Hue::keys,
                        "squared multiple correlation of token position with the key",
                        ChangeScale::r_squared, 0, 1)});
    for (size_t i = 0; i < 2; ++i) list[i].list_changes = true;
    list.front().flags = {{"rank",
                           "Queries or keys do not vary in some direction, which is left out of "
                           "their R².",
                           dropped}};
    list[0].figure = {.name = "how_positional",
                      .title = "How positional heads are, over training",
                      .y_title = "share explained by position",
                      .what = "Mean share",
                      .note =
                          "R²: how well a linear fit to the query (key) predicts position on "
                          "held-out documents. Logits: share of their variance that is linear "
                          "in key position.",
                      .first = true};
    list[0].views[0].line = {"R² of queries", "circle"};
    list[0].views[0].hint = "how well queries predict token position";
    list[1].views[0].hint = "how well keys predict token position";
    list[1].figure.name = "how_positional";
    list[1].views[0].line = {"R² of keys", "square"};
    return list;
  }();
  return kStatistics;
}

}  // namespace ropewalk::statistic
