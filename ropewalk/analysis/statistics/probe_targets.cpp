// What heads attend to in synthetic documents of random tokens.

#include "ropewalk/analysis/replicates/probes.h"
#include "ropewalk/analysis/statistics/statistic.h"

namespace ropewalk::statistic {
namespace {

at::Tensor compute(const HeadReplicates& head) {
  const auto probes = probe_replicates(head);
  if (!probes) return at::full({head.blocks() + 1, 3}, kUndefined, at::kDouble);
  return at::stack({probes->induction, probes->previous, probes->prefix}, 1);
}

Statistic share(const std::string& key, const std::string& title, const std::string& definition) {
  return head_statistic(key, title, Hue::both, definition, ChangeScale::share, 0, 1, true);
}

}  // namespace

const std::vector<Statistic>& probe_targets() {
  static const std::vector<Statistic> kStatistics = computed_by(
      compute,
      {share(
           "induction", "induction",
           "in 50 random tokens that stand twice, mean of what the attention of the second copy's "
           "tokens gives to the token behind the same one in the first copy"),
       share(
           "previous_random", "attention to the random token before",
           "in 50 random tokens that stand twice, mean of what the attention of the second copy's "
           "tokens gives to the token before"),
       share("prefix", "prefix matching",
             "in 25 random tokens that stand four times, mean of what the attention of the later "
             "copies' tokens gives to the tokens behind the same one in earlier copies")});
  return kStatistics;
}

}  // namespace ropewalk::statistic
