// The drift plane: the direction a in which queries and keys move with position, and b, the
// direction of largest variance orthogonal to it, which mostly separates queries from keys. It was
// published as planar rotation.

#include <cmath>

#include "ropewalk/analysis/replicates/drift_axis.h"
#include "ropewalk/analysis/replicates/head_axes.h"
#include "ropewalk/analysis/statistics/statistic.h"

namespace ropewalk::statistic {
namespace {

// Correlation with position of queries and keys together, along a.
at::Tensor position_r(const HeadReplicates& head, const at::Tensor& a, const at::Tensor& variance) {
  const StreamReplicates &q = head.queries, &k = head.keys;
  const at::Tensor between = head.share_q() * head.share_k();
  const at::Tensor later = q.position_mean - k.position_mean;
  const at::Tensor covariance =
      row_dot(a, common_drift(head)) + between * row_dot(a, head.offset()) * later;
  const at::Tensor times = head.share_q() * q.position_variance() +
                           head.share_k() * k.position_variance() + between * later.square();
  return covariance / (variance * times).sqrt();
}

at::Tensor compute(const HeadReplicates& head) {
  const StreamReplicates &q = head.queries, &k = head.keys;
  const HeadAxes& axes = head_axes(head);
  const at::Tensor &a = axes.a, &b = axes.b, offset = head.offset();
  const at::Tensor q_along_a = axes.q_variance.select(1, 1);
  const at::Tensor k_along_a = axes.k_variance.select(1, 1);
  const at::Tensor between = head.share_q() * head.share_k();  // weight of the offset
  const auto along = [&](const at::Tensor& axis, int64_t i) {  // pooled variance along an axis
    return head.share_q() * axes.q_variance.select(1, i) +
           head.share_k() * axes.k_variance.select(1, i) + between * row_dot(axis, offset).square();
  };
  const at::Tensor all = head.variance(), apart = between * row_dot(offset, offset);
  const at::Tensor along_a = along(a, 1), along_b = along(b, 2);
  const at::Tensor alpha_q = row_dot(a, q.slope()), alpha_k = row_dot(a, k.slope());
  const at::Tensor mu_q_a = row_dot(a, q.mean), mu_k_a = row_dot(a, k.mean);
  const at::Tensor bias = mu_q_a * alpha_k;
  const at::Tensor cosine =
      row_dot(q.position, k.position) / (q.position.norm(2, 1) * k.position.norm(2, 1));
  const double context = head.units.scale * (head.units.context - 1);
  const at::Tensor numbers =
      at::stack({position_r(head, a, along_a), correlation_along(q, a, q_along_a),
                 correlation_along(k, a, k_along_a), alpha_q, alpha_k, mu_q_a, mu_k_a,
                 row_dot(b, q.mean), row_dot(b, k.mean), bias, row_dot(q.mean, k.slope()) - bias,
                 bias * context, axes.b_values / (all + apart), along_a / all, along_b / all,
                 (along_a + along_b) / all, cosine},
                1);
  return at::where(axes.a_known.unsqueeze(1), numbers, kUndefined);
}

// The smallest overlap between a of the whole sample and a of a replicate.
at::Tensor stability(const HeadReplicates& head) {
  if (head.blocks() < 2) return at::full({1, 1}, kUndefined, at::kDouble);
  const at::Tensor a = drift_axis(head);
  return row_dot(a.slice(0, 1), a.slice(0, 0, 1)).min().reshape({1, 1});
}

bool near_tie(const HeadReplicates& head) {
  const bool drifts = head_axes(head).a_known[0].item<bool>();
  return drifts && head.widest.next_b > kNearTie * head.widest.b_values[0].item<double>();
}

constexpr double kAny = std::numeric_limits<double>::max();

std::string along_a(const std::string& what) {
  return what +
         " along the drift axis, the direction in which queries and keys together move with "
         "position";
}

std::string along_b(const std::string& what) {
  return what + " along the separation axis, the widest direction orthogonal to the drift axis";
}

Statistic number(const char* key, const char* title, Hue hue, const std::string& definition,
                 Unit unit = Unit::one) {
  Statistic one = head_statistic(key, title, hue, definition, ChangeScale::plain, -kAny, kAny);
  one.unit = unit;
  return one;
}

Statistic correlation(const char* key, const char* title, Hue hue, const std::string& definition,
                      bool depth) {
  return head_statistic(key, title, hue, definition, ChangeScale::correlation, -1, 1, depth);
}

Statistic share(const char* key, const char* title, const std::string& definition) {
  return head_statistic(key, title, Hue::both, definition, ChangeScale::share, 0, 1);
}

// Correlations with position, slopes and means.
std::vector<Statistic> along_the_axes() {
  return {
      correlation("position_r", "r of the pool on the drift axis", Hue::both,
                  along_a("correlation of queries and keys together with token position"), false),
      with_absolute(correlation("r_q_a", "r_q on the drift axis", Hue::queries,
                                along_a("correlation of queries with token position"), true)),
      with_absolute(correlation("r_k_a", "r_k on the drift axis", Hue::keys,
                                along_a("correlation of keys with token position"), true)),
      with_absolute(number("alpha_q", "drift of queries per token", Hue::queries,
                           along_a("slope of queries per token"), Unit::per_token)),
      with_absolute(number("alpha_k", "drift of keys per token", Hue::keys,
                           along_a("slope of keys per token"), Unit::per_token)),
      number("mu_q_a", "mean query on a", Hue::queries, along_a("mean query")),
      number("mu_k_a", "mean key on a", Hue::keys, along_a("mean key")),
      number("mu_q_b", "mean query on b", Hue::queries, along_b("mean query")),
      number("mu_k_b", "mean key on b", Hue::keys, along_b("mean key"))};
}

// What the drift of keys adds to logits.
std::vector<Statistic> biases() {
  const std::string adds =
      " adds to the product of the mean query and a key, per token, without the softmax scale";
  std::vector<Statistic> list{
      number("bias_strength", "bias per token", Hue::both,
             "what the drift of keys along the drift axis" + adds + ": `mu_q_a` times `alpha_k`",
             Unit::logits_per_token),
      number("bias_off", "bias per token outside a", Hue::both,
             "what the drift of keys in all directions but the drift axis" + adds,
             Unit::logits_per_token),
      head_statistic("bias_context", "bias over the context", Hue::both,
                     "what the drift of keys along the drift axis adds to logits of the mean "
                     "query from one end of the context to the other: `bias_strength` times the "
                     "softmax scale and the context less one token",
                     ChangeScale::plain, -kAny, kAny, true)};
  Statistic &per_token = list.front(), &context = list.back();
  per_token.figure = {.name = "drift_bias", .y_title = "bias per token"};
  per_token.views[0].line = {"bias per token, without the softmax scale", "square"};
  context.figure = {.name = "drift_bias",
                    .title = "What the drift of keys adds to attention, over training",
                    .y_title = "bias over the context, logits",
                    .what = "Mean bias along the drift axis",
                    .note =
                        "Above: from one end of the context to the other. Below: per token, which "
                        "falls as 1/T where the context T grows, though nothing else changes."};
  context.views[0].line = {"bias over the context", "circle"};
  context.flags = {{"no_context",
                    "The capture does not state its context: numbers over the context are empty.",
                    [](const HeadReplicates& head) { return std::isnan(head.units.context); }}};
  return list;
}

std::vector<Statistic> shares() {
  return {
      share(
          "separation_strength", "separation",
          along_b("share of the variance of queries and keys, with the offset between their means "
                  "counted double,")),
      share("var_frac_a", "variance on a",
            along_a("share of the variance of queries and keys together")),
      share("var_frac_b", "variance on b",
            along_b("share of the variance of queries and keys together")),
      share("plane_var_fraction", "variance in the plane",
            "share of the variance of queries and keys together in the plane of the drift axis "
            "and the separation axis: `var_frac_a` plus `var_frac_b`")};
}

// In the order of compute().
std::vector<Statistic> plane() {
  std::vector<Statistic> members;
  for (const auto& group : {along_the_axes(), biases(), shares()}) {
    members.insert(members.end(), group.begin(), group.end());
  }
  members.push_back(correlation("drift_cos", "cosine of both drifts", Hue::both,
                                "cosine of the covariance of queries with position and that of "
                                "keys",
                                false));
  std::vector<Statistic> list = computed_by(compute, std::move(members));
  list.front().flags = {
      {"no_drift",
       "Queries and keys together hardly move with position: the drift axis, and what is measured "
       "along it, mean nothing.",
       no_drift},
      {"near_tie_b",
       "Another direction is nearly as wide as the separation axis; the two trade places easily.",
       near_tie}};
  return list;
}

}  // namespace

const std::vector<Statistic>& drift_plane() {
  static const std::vector<Statistic> kStatistics = [] {
    std::vector<Statistic> list = plane();
    Statistic last = head_statistic(
        "drift_stability", "stability of the drift axis", Hue::both,
        "smallest overlap of the drift axis with that without one block of documents",
        ChangeScale::correlation, -1, 1);
    last.error = false;
    last.compute = stability;
    list.push_back(last);
    return list;
  }();
  return kStatistics;
}

}  // namespace ropewalk::statistic
