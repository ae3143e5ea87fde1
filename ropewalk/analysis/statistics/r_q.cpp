#include "ropewalk/analysis/replicates/head_replicates.h"
#include "ropewalk/analysis/statistics/statistic.h"

namespace ropewalk::statistic {
const std::vector<Statistic>& r_q() {
  static const std::vector<Statistic> kStatistics{
      {.key = "r_q",
       .title = "r_q",
       .definition = "correlation of queries along the component with token position",
       .scale = ChangeScale::correlation,
       .sign = Sign::rule,
       .carried = "r_q_run",
       .low = -1,
       .high = 1,
       .required = true,
       .headline = true,
       .list_changes = true,
       .undefined_flag = "constant_q",
       .views = {{.key = "r_q",
                  .name = "r_q",
                  .hue = Hue::queries,
                  .mean = "mean_r_q",
                  .spread = "sd_r_q",
                  .depth = "depth_r_q",
                  .mean_name = "mean r_q",
                  .hint = "queries with token position",
                  .depth_title = "Query correlation by depth over training",
                  .line = {"mean r_q (queries)", "circle"}}},
       .figure = {"position_signal", "Position correlation on PC0 over training",
                  "correlation with token position", "Mean"},
       .compute = correlation_of_queries}};
  return kStatistics;
}

}  // namespace ropewalk::statistic
