#include "ropewalk/analysis/run/head_flags.h"

#include "ropewalk/analysis/analyze/block_trend.h"
#include "ropewalk/analysis/run/carried_signs.h"
#include "ropewalk/analysis/statistics/statistic.h"
#include "ropewalk/analysis/table/qk_table.h"

namespace ropewalk {

std::vector<std::pair<std::string, std::string>> head_flag_meanings() {
  std::vector<std::pair<std::string, std::string>> list;
  for (const Statistic* statistic : statistics()) {
    for (const HeadFlag& flag : statistic->flags) list.emplace_back(flag.name, flag.meaning);
  }
  const std::pair<const char*, const char*> whole[] = {
      {"constant_q", "Queries do not vary along PC0: r_q is empty."},
      {"constant_k", "Keys do not vary along PC0: r_k is empty."},
      {kAxisChanged,
       "PC0 is another axis than at the checkpoint before: r on PC0 cannot be compared with it."},
      {kSignUncertain,
       "The sign of r_q and r_k hangs on a number within two standard errors of turning it."},
      {kTrend,
       "Measured over several steps of training, in which R² or r_q moved: a mean over them, and "
       "its error holds that."},
      {kNotMeasured,
       "The capture lacks something that captures keep by default: columns that need it are empty "
       "until an experiment names it."},
      {"no_variance", "Nothing varies in this head."},
      {"no_position", "Positions do not vary."},
      {"no_se", "A number lacks its standard error: too few blocks, or undefined without one."},
      {"few_blocks", "Fewer than eight blocks: the standard errors are themselves uncertain."},
      {kRandomWeights, "Fresh random weights: a baseline, not a step of the run."}};
  for (const auto& [name, meaning] : whole) list.emplace_back(name, meaning);
  return list;
}

}  // namespace ropewalk
