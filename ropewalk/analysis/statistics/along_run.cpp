// PC0 followed along a run (carried_signs.h): these statistics need the previous checkpoint.

#include "ropewalk/analysis/replicates/head_replicates.h"
#include "ropewalk/analysis/statistics/statistic.h"

namespace ropewalk::statistic {

const std::vector<Statistic>& along_run() {
  static const std::vector<Statistic> kStatistics = [] {
    Statistic overlap =
        head_statistic("pc0_overlap", "PC0 kept", Hue::both,
                       "overlap of PC0 with that of the checkpoint before, whatever the sign",
                       ChangeScale::correlation, 0, 1);
    overlap.error = false;
    std::vector<Statistic> list{
        overlap,
        head_statistic("r_q_run", "r_q along the run", Hue::queries,
                       "correlation of queries along PC0 with token position, its sign carried "
                       "from the checkpoint before where PC0 is still the same axis",
                       ChangeScale::correlation, -1, 1),
        head_statistic("r_k_run", "r_k along the run", Hue::keys,
                       "correlation of keys along PC0 with token position, its sign carried "
                       "from the checkpoint before where PC0 is still the same axis",
                       ChangeScale::correlation, -1, 1)};
    for (Statistic& one : list) {
      if (one.key != "pc0_overlap") one.sign = Sign::run;
    }
    return list;
  }();
  return kStatistics;
}

}  // namespace ropewalk::statistic
