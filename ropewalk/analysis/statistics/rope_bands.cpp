// Rotary frequencies: which of them carry energy, how much variance rotation adds, and how closely
// vectors lie around their mean before they are rotated. bands.csv has the same per pair.

#include "ropewalk/analysis/replicates/bands.h"
#include "ropewalk/analysis/statistics/statistic.h"

namespace ropewalk::statistic {
namespace {

at::Tensor compute(const HeadReplicates& head) {
  const at::Tensor none = at::full({head.blocks() + 1}, kUndefined, at::kDouble);
  const auto found = [&](const at::Tensor& numbers) { return numbers.defined() ? numbers : none; };
  if (!head.rope) return none.unsqueeze(1).expand({-1, 8});
  const Bands &q = query_bands(head), &k = key_bands(head);
  return at::stack(
      {found(q.centroid), found(k.centroid), found(q.low_share), found(k.low_share),
       found(q.rope_var_share), found(k.rope_var_share), found(q.mean_mrl), found(k.mean_mrl)},
      1);
}

bool lacks_sums(const HeadReplicates& head) { return !head.rope || !head.rope->has_sums(); }
bool stands_still(const HeadReplicates& head) { return head.rope && !head.rope->layer->turns; }
bool turns_by_length(const HeadReplicates& head) {
  return head.rope && head.rope->layer->by_length;
}

}  // namespace

const std::vector<Statistic>& rope_bands() {
  static const std::vector<Statistic> kStatistics = [] {
    constexpr double kAny = std::numeric_limits<double>::max();
    std::vector<Statistic> list = computed_by(
        compute,
        {head_statistic("band_centroid_q", "wavelength of queries, log₂", Hue::queries,
                        "mean of the base-2 logarithm of the wavelengths of rotary pairs, in "
                        "tokens, each weighted by the mean squared length of queries in the pair",
                        ChangeScale::plain, -kAny, kAny),
         head_statistic("band_centroid_k", "wavelength of keys, log₂", Hue::keys,
                        "mean of the base-2 logarithm of the wavelengths of rotary pairs, in "
                        "tokens, each weighted by the mean squared length of keys in the pair",
                        ChangeScale::plain, -kAny, kAny),
         head_statistic("low_share_q", "energy of queries in slow pairs", Hue::queries,
                        "share of the mean squared length of queries, of all rotary pairs, in "
                        "those that do not turn once within the context",
                        ChangeScale::share, 0, 1),
         head_statistic("low_share_k", "energy of keys in slow pairs", Hue::keys,
                        "share of the mean squared length of keys, of all rotary pairs, in those "
                        "that do not turn once within the context",
                        ChangeScale::share, 0, 1),
         head_statistic("rope_var_share_q", "variance of queries from turning", Hue::queries,
                        "share of the variance of queries in rotary pairs that they do not have "
                        "before RoPE: position of any shape that turning puts in",
                        ChangeScale::share, -kAny, 1, true),
         head_statistic("rope_var_share_k", "variance of keys from turning", Hue::keys,
                        "share of the variance of keys in rotary pairs that they do not have "
                        "before RoPE: position of any shape that turning puts in",
                        ChangeScale::share, -kAny, 1, true),
         head_statistic("mrl_q", "concentration of queries", Hue::queries,
                        "length of the mean over the mean length of queries in a rotary pair "
                        "before RoPE, of tokens from position 4 on, as a mean over pairs weighted "
                        "by the pair's energy: 1 where all point one way",
                        ChangeScale::share, 0, 1),
         head_statistic("mrl_k", "concentration of keys", Hue::keys,
                        "length of the mean over the mean length of keys in a rotary pair before "
                        "RoPE, of tokens from position 4 on, as a mean over pairs weighted by "
                        "the pair's energy: 1 where all point one way",
                        ChangeScale::share, 0, 1)});
    list.front().flags = {
        {"no_pre_rope", "The capture holds no sums before RoPE: numbers that need them are empty.",
         lacks_sums},
        {"nope", "The layer has no RoPE: wavelengths and the preferred distance are empty.",
         stands_still},
        {"theta_by_length",
         "RoPE turns documents of other lengths by other angles than those used here.",
         turns_by_length}};
    for (size_t i = 0; i < 2; ++i) list[i].views[0].high = 20;
    return list;
  }();
  return kStatistics;
}

}  // namespace ropewalk::statistic
