// Beyond PC0: how close PC1 is to it, and how much the planes of the first components know about
// position.

#include <array>

#include "ropewalk/analysis/replicates/head_replicates.h"
#include "ropewalk/analysis/statistics/statistic.h"

namespace ropewalk::statistic {
namespace {

constexpr double kSmallest = 1e-12;  // relative to the total variance

// Squared multiple correlation of position with a stream's vectors on components.
at::Tensor r2_on(const StreamReplicates& stream, const at::Tensor& products,
                 const at::Tensor& position, const at::Tensor& floor) {
  auto [values, vectors] = at::linalg_eigh(products);
  const at::Tensor along = at::bmm(position, vectors).squeeze(1);
  const at::Tensor r2 =
      at::where(values > floor, along.square() / values, 0.0).sum(1) / stream.position_scatter;
  const at::Tensor defined = (values > floor).any(1).logical_and(stream.position_scatter > 0);
  return at::where(defined, r2.clamp_max(1), kUndefined);  // above 1 by rounding
}

// The squared multiple correlation on the first two and on the first ten components.
std::array<at::Tensor, 2> r2_on_first(const HeadReplicates& head, const StreamReplicates& stream,
                                      const at::Tensor& image) {
  const at::Tensor axes = head.leading.slice(2, 0, 10);  // [replicates, d, 10]
  const at::Tensor products = at::bmm(axes.transpose(1, 2), image.slice(2, 0, 10));
  const at::Tensor position = at::bmm(stream.position.unsqueeze(1), axes);  // [replicates, 1, 10]
  const at::Tensor floor = stream.products.diagonal(0, 1, 2).sum(1, true) * kSmallest;
  return {r2_on(stream, products.slice(1, 0, 2).slice(2, 0, 2), position.slice(2, 0, 2), floor),
          r2_on(stream, products, position, floor)};
}

// The gap between the eigenvalues of PC1 and PC0.
at::Tensor gap(const HeadReplicates& head) {
  if (head.dimensions() < 2) return at::full_like(head.trace, kUndefined);
  const at::Tensor first = head.widest.values.select(1, 0);
  const at::Tensor second = head.widest.values.select(1, 1).clamp_min(0);
  return at::where(first > 0, second / first, kUndefined);
}

at::Tensor compute(const HeadReplicates& head) {
  const auto [q2, q10] = r2_on_first(head, head.queries, head.q_image);
  const auto [k2, k10] = r2_on_first(head, head.keys, head.k_image);
  return at::stack({gap(head), q2, k2, q10, k10}, 1);
}

}  // namespace

const std::vector<Statistic>& leading_components() {
  static const std::vector<Statistic> kStatistics = [] {
    const auto plane = [](const char* key, const char* title, Hue hue, const char* what) {
      return head_statistic(
          key, title, hue,
          std::string("squared multiple correlation of token position with ") + what,
          ChangeScale::r_squared, 0, 1, true);
    };
    std::vector<Statistic> list = computed_by(
        compute,
        {head_statistic("gap01", "PC1 over PC0", Hue::both,
                        "eigenvalue of PC1 over that of PC0; near 1 they trade places easily",
                        ChangeScale::share, 0, 1),
         plane("r2_pc2_q", "R² of queries on PC0 and PC1", Hue::queries, "queries on PC0 and PC1"),
         plane("r2_pc2_k", "R² of keys on PC0 and PC1", Hue::keys, "keys on PC0 and PC1"),
         plane("r2_pc10_q", "R² of queries on PC0–9", Hue::queries,
               "queries on the first ten components"),
         plane("r2_pc10_k", "R² of keys on PC0–9", Hue::keys, "keys on the first ten components")});
    list.front().flags = {
        {"near_tie",
         "PC1 is nearly as wide as PC0: the two trade places easily, and r on PC0 with them.",
         [](const HeadReplicates& head) { return gap(head)[0].item<double>() > kNearTie; }}};
    return list;
  }();
  return kStatistics;
}

}  // namespace ropewalk::statistic
