#include "ropewalk/analysis/replicates/head_replicates.h"
#include "ropewalk/analysis/statistics/statistic.h"

namespace ropewalk::statistic {
const std::vector<Statistic>& r_k() {
  static const std::vector<Statistic> kStatistics{
      {.key = "r_k",
       .title = "r_k",
       .definition = "correlation of keys along the component with token position",
       .scale = ChangeScale::correlation,
       .sign = Sign::rule,
       .carried = "r_k_run",
       .low = -1,
       .high = 1,
       .required = true,
       .headline = true,
       .list_changes = true,
       .undefined_flag = "constant_k",
       .views = {{.key = "r_k",
                  .name = "r_k, signed",
                  .hue = Hue::keys,
                  .low = -1,
                  .change = 1,
                  .mean = "mean_r_k",
                  .spread = "sd_r_k",
                  .depth = "depth_r_k",
                  .mean_name = "mean r_k",
                  .hint = "keys with token position, signed",
                  .depth_title = "Key correlation by depth over training",
                  .line = {"mean r_k (keys)", "square"}},
                 {.key = "abs_r_k",
                  .name = "|r_k|",
                  .absolute = true,
                  .hue = Hue::keys,
                  .mean = "mean_abs_r_k",
                  .depth = "depth_abs_r_k",
                  .mean_name = "mean |r_k|",
                  .hint = "keys, whatever the sign",
                  .line = {"mean |r_k|", "stroke"}}},
       .figure = {"position_signal", {}, {}, {}},
       .compute = correlation_of_keys}};
  return kStatistics;
}

}  // namespace ropewalk::statistic
