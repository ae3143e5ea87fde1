#include "ropewalk/analysis/head_pca.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ropewalk/analysis/jackknife.h"

namespace ropewalk {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
// Variances below this share of the whole are rounding, not signal.
constexpr double kNoVariance = 1e-12;

// Moments of one kind for the whole sample (row 0) and without each block (rows 1 …).
struct Cases {
  at::Tensor tokens;            // [cases]
  at::Tensor position_scatter;  // [cases]
  at::Tensor mean;              // [cases, d]
  at::Tensor position;          // [cases, d]
  at::Tensor products;          // [cases, d, d]
};

Cases leave_one_out(const StreamInput& stream) {
  const auto options = at::TensorOptions().dtype(at::kDouble);
  const auto row = [&](const std::vector<double>& values) { return at::tensor(values, options); };
  const at::Tensor taken = row(stream.block_tokens);  // [blocks]
  const at::Tensor left = stream.tokens - taken;
  const at::Tensor share = at::where(left > 0, taken / left, at::zeros_like(left));
  const at::Tensor mean = stream.mean + (stream.mean - stream.block_mean) * share.unsqueeze(1);
  const at::Tensor t_mean =
      stream.position_mean + (stream.position_mean - row(stream.block_position_mean)) * share;
  const at::Tensor offset = stream.block_mean - mean;                 // [blocks, d]
  const at::Tensor drift = row(stream.block_position_mean) - t_mean;  // [blocks]
  const at::Tensor weight = taken * left / stream.tokens;
  Cases cases;
  cases.tokens = at::cat({at::full({1}, stream.tokens, options), left});
  cases.position_scatter = at::cat(
      {at::full({1}, stream.position_scatter, options),
       stream.position_scatter - row(stream.block_position_scatter) - weight * drift.square()});
  cases.mean = at::cat({stream.mean.unsqueeze(0), mean});
  cases.position =
      at::cat({stream.position.unsqueeze(0),
               stream.position - stream.block_position - offset * (weight * drift).unsqueeze(1)});
  cases.products =
      at::cat({stream.products.unsqueeze(0),
               stream.products - stream.block_products -
                   offset.unsqueeze(2) * offset.unsqueeze(1) * weight.unsqueeze(1).unsqueeze(2)});
  return cases;
}

// Covariance of queries and keys together, [cases, d, d].
at::Tensor pooled_covariance(const Cases& q, const Cases& k) {
  const at::Tensor all = q.tokens + k.tokens;
  const at::Tensor offset = q.mean - k.mean;
  const at::Tensor weight = (q.tokens * k.tokens / all.clamp_min(1)).unsqueeze(1).unsqueeze(2);
  const at::Tensor products =
      q.products + k.products + offset.unsqueeze(2) * offset.unsqueeze(1) * weight;
  return products / (all - 1).clamp_min(1).unsqueeze(1).unsqueeze(2);
}

// Correlation with position along each column of vectors [cases, d, c]: [cases, c]. NaN where
// undefined.
at::Tensor correlation(const Cases& cases, const at::Tensor& vectors,
                       const at::Tensor& variance_floor) {
  const at::Tensor covariance = at::bmm(cases.position.unsqueeze(1), vectors).squeeze(1);
  const at::Tensor variance = (at::bmm(cases.products, vectors) * vectors).sum(1);  // [cases, c]
  const at::Tensor scatter = cases.position_scatter.unsqueeze(1);
  const at::Tensor defined = (variance > variance_floor).logical_and(scatter > 0);
  const at::Tensor r = covariance / (variance * scatter).clamp_min(0).sqrt();
  return at::where(defined, r.clamp(-1, 1), at::full_like(r, kNaN));
}

Estimate make_estimate(const at::Tensor& cases, int64_t component,
                       const std::vector<double>& sizes) {
  Estimate estimate;
  const auto values = cases.accessor<double, 2>();
  estimate.value = values[0][component];
  for (int64_t i = 1; i < cases.size(0); ++i) estimate.replicates.push_back(values[i][component]);
  estimate.se = jackknife_se(estimate.value, estimate.replicates, sizes);
  return estimate;
}

std::string join_flags(std::initializer_list<std::pair<bool, const char*>> flags) {
  std::string text;
  for (const auto& [set, name] : flags) {
    if (!set) continue;
    if (!text.empty()) text += ';';
    text += name;
  }
  return text;
}

}  // namespace

HeadComponents analyze_head(const StreamInput& q, const StreamInput& k, int64_t components) {
  const Cases q_cases = leave_one_out(q);
  const Cases k_cases = leave_one_out(k);
  const at::Tensor covariance = pooled_covariance(q_cases, k_cases);
  const int64_t d = covariance.size(1);
  const int64_t kept = std::min(components, d);
  auto [values, all_vectors] = at::linalg_eigh(covariance);  // ascending
  const at::Tensor eigenvalues = values.flip(1).slice(1, 0, kept).clamp_min(0);
  at::Tensor vectors = all_vectors.flip(2).slice(2, 0, kept).contiguous();  // [cases, d, kept]
  const at::Tensor trace = covariance.diagonal(0, 1, 2).sum(1);             // [cases]

  // Replicates point the way of the whole sample's component.
  const at::Tensor overlap = (vectors * vectors.slice(0, 0, 1)).sum(1);  // [cases, kept]
  vectors = vectors * at::where(overlap < 0, -1.0, 1.0).unsqueeze(1);
  const auto floor = [&](const Cases& cases) {
    return (cases.products.diagonal(0, 1, 2).sum(1) * kNoVariance).unsqueeze(1);
  };
  at::Tensor r_q = correlation(q_cases, vectors, floor(q_cases));
  at::Tensor r_k = correlation(k_cases, vectors, floor(k_cases));
  // A component without variance has no direction, and so no correlation.
  const at::Tensor no_rank = eigenvalues <= (trace * kNoVariance).unsqueeze(1);
  r_q.masked_fill_(no_rank, kNaN);
  r_k.masked_fill_(no_rank, kNaN);
  // The sign rule: r_q >= 0, or where r_q says little, r_k >= 0; the replicates follow.
  const at::Tensor decides = at::where(r_q[0].abs() >= kSignSwitch, r_q[0], r_k[0]);
  const at::Tensor sign = at::where(decides < 0, -1.0, 1.0);
  r_q.mul_(sign);
  r_k.mul_(sign);
  const at::Tensor explained = at::where(trace.unsqueeze(1) > 0, eigenvalues / trace.unsqueeze(1),
                                         at::full_like(eigenvalues, kNaN));

  HeadComponents result;
  for (size_t b = 0; b < q.block_tokens.size(); ++b) {
    result.block_sizes.push_back(q.block_tokens[b] + k.block_tokens[b]);
  }
  const size_t blocks = result.block_sizes.size();
  const bool constant = !(trace[0].item<double>() > 0);
  const bool no_position = !(q.position_scatter > 0) || !(k.position_scatter > 0);
  for (int64_t c = 0; c < kept; ++c) {
    result.explained_variance.push_back(make_estimate(explained, c, result.block_sizes));
    result.r_q.push_back(make_estimate(r_q, c, result.block_sizes));
    result.r_k.push_back(make_estimate(r_k, c, result.block_sizes));
    const bool rankless = !constant && no_rank[0][c].item<bool>();
    const bool defined = !constant && !rankless && !no_position;
    const Estimate& last_q = result.r_q.back();
    const Estimate& last_k = result.r_k.back();
    const bool no_se = (!std::isnan(last_q.value) && std::isnan(last_q.se)) ||
                       (!std::isnan(last_k.value) && std::isnan(last_k.se));
    result.flags.push_back(join_flags({{constant, "no_variance"},
                                       {rankless, "rank"},
                                       {no_position, "no_position"},
                                       {defined && std::isnan(last_q.value), "constant_q"},
                                       {defined && std::isnan(last_k.value), "constant_k"},
                                       {blocks < 2 || no_se, "no_se"},
                                       {blocks >= 2 && blocks < kFewBlocks, "few_blocks"}}));
  }
  result.pc0_stability =
      blocks < 2 || constant ? kNaN : overlap.slice(0, 1).select(1, 0).abs().min().item<double>();
  return result;
}

}  // namespace ropewalk
