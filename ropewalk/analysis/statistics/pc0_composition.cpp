// The parts of PC0: its variance is exactly the sum of offset, position and content.

#include "ropewalk/analysis/replicates/head_replicates.h"
#include "ropewalk/analysis/statistics/statistic.h"

namespace ropewalk::statistic {
namespace {

at::Tensor compute(const HeadReplicates& head) {
  const at::Tensor v = head.vectors.select(2, 0);
  const at::Tensor share_q = head.share_q(), share_k = head.share_k();
  const at::Tensor offset = share_q * share_k * row_dot(v, head.offset()).square();
  const auto split = [&](const StreamReplicates& stream, const at::Tensor& image,
                         const at::Tensor& share) {
    const at::Tensor all = share * row_dot(image.select(2, 0), v) / stream.tokens;
    const at::Tensor moved =
        share * row_dot(v, stream.drift()).square() / stream.position_variance();
    return std::pair(all, moved);
  };
  const auto [q, moved_q] = split(head.queries, head.q_image, share_q);
  const auto [k, moved_k] = split(head.keys, head.k_image, share_k);
  const at::Tensor all = q + k + offset;
  const at::Tensor parts = at::stack({offset, moved_q, moved_k, q - moved_q + k - moved_k}, 1);
  return at::where(all.unsqueeze(1) > 0, parts / all.unsqueeze(1), kUndefined);
}

}  // namespace

const std::vector<Statistic>& pc0_composition() {
  static const std::vector<Statistic> kStatistics = [] {
    std::vector<Statistic> list = computed_by(
        compute,
        {head_statistic("pc0_offset", "PC0: offset", Hue::both,
                        "share of PC0's variance that comes of queries and keys lying apart",
                        ChangeScale::share, 0, 1, true),
         head_statistic("pc0_pos_q", "PC0: position of queries", Hue::queries,
                        "share of PC0's variance that is linear in the position of queries",
                        ChangeScale::share, 0, 1),
         head_statistic("pc0_pos_k", "PC0: position of keys", Hue::keys,
                        "share of PC0's variance that is linear in the position of keys",
                        ChangeScale::share, 0, 1),
         head_statistic(
             "pc0_content", "PC0: content", Hue::both,
             "share of PC0's variance that neither comes of queries and keys lying apart nor is "
             "linear in position",
             ChangeScale::share, 0, 1)});
    list.front().figure = {.name = "pc0_composition",
                           .title = "What PC0 is made of, over training",
                           .y_title = "share of PC0's variance",
                           .what = "Mean share of PC0's variance",
                           .stacked = true,
                           .note =
                               "Offset: queries and keys lie apart. Position: linear in it. "
                               "Content: the rest."};
    const char* names[] = {"offset", "position of queries", "position of keys", "content"};
    for (size_t i = 0; i < list.size(); ++i) {
      list[i].figure.name = "pc0_composition";
      list[i].views[0].line = {names[i], "circle"};
    }
    return list;
  }();
  return kStatistics;
}

}  // namespace ropewalk::statistic
