#include "ropewalk/analysis/head_cases.h"

#include <algorithm>

namespace ropewalk {
namespace {

// Variances below this share of the whole are rounding, not signal.
constexpr double kNoVariance = 1e-12;

// Covariance of queries and keys together, [cases, d, d].
at::Tensor pooled_covariance(const StreamCases& q, const StreamCases& k) {
  const at::Tensor all = q.tokens + k.tokens;
  const at::Tensor offset = q.mean - k.mean;
  const at::Tensor weight = (q.tokens * k.tokens / all.clamp_min(1)).unsqueeze(1).unsqueeze(2);
  const at::Tensor products =
      q.products + k.products + offset.unsqueeze(2) * offset.unsqueeze(1) * weight;
  return products / (all - 1).clamp_min(1).unsqueeze(1).unsqueeze(2);
}

// Correlation with position along vectors [cases, d, c]: [cases, c]. NaN where undefined.
at::Tensor correlation(const StreamCases& stream, const at::Tensor& vectors,
                       const at::Tensor& no_rank) {
  const at::Tensor covariance = at::bmm(stream.position.unsqueeze(1), vectors).squeeze(1);
  const at::Tensor variance = (at::bmm(stream.products, vectors) * vectors).sum(1);  // [cases, c]
  const at::Tensor floor = (stream.products.diagonal(0, 1, 2).sum(1) * kNoVariance).unsqueeze(1);
  const at::Tensor scatter = stream.position_scatter.unsqueeze(1);
  const at::Tensor defined =
      (variance > floor).logical_and(scatter > 0).logical_and(no_rank.logical_not());
  const at::Tensor r = covariance / (variance * scatter).clamp_min(0).sqrt();
  return at::where(defined, r.clamp(-1, 1), at::full_like(r, kUndefined));
}

// The first case alone.
StreamCases whole_sample(const StreamCases& stream) {
  const auto first = [](const at::Tensor& all) { return all.slice(0, 0, 1); };
  return {first(stream.tokens), first(stream.position_scatter), first(stream.mean),
          first(stream.position), first(stream.products)};
}

}  // namespace

StreamCases leave_one_out(const StreamInput& stream) {
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
  StreamCases cases;
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

HeadCases make_cases(const StreamCases& queries, const StreamCases& keys, int64_t components) {
  HeadCases head;
  head.queries = queries;
  head.keys = keys;
  const at::Tensor covariance = pooled_covariance(queries, keys);
  const int64_t kept = std::min(components, covariance.size(1));
  auto [values, all_vectors] = at::linalg_eigh(covariance);  // ascending
  head.eigenvalues = values.flip(1).slice(1, 0, kept).clamp_min(0);
  head.trace = covariance.diagonal(0, 1, 2).sum(1);
  // A component without variance has no direction, and so no correlation.
  head.no_rank = head.eigenvalues <= (head.trace * kNoVariance).unsqueeze(1);
  const at::Tensor vectors = all_vectors.flip(2).slice(2, 0, kept).contiguous();
  // Replicates point the way of the whole sample's component.
  head.overlap = (vectors * vectors.slice(0, 0, 1)).sum(1);  // [cases, kept]
  const at::Tensor aligned = vectors * at::where(head.overlap < 0, -1.0, 1.0).unsqueeze(1);
  // The sign rule: r_q >= 0, or where r_q says little, r_k >= 0.
  const at::Tensor first = aligned.slice(0, 0, 1), rankless = head.no_rank.slice(0, 0, 1);
  const at::Tensor r_q = correlation(whole_sample(queries), first, rankless);
  const at::Tensor r_k = correlation(whole_sample(keys), first, rankless);
  const at::Tensor decides = at::where(r_q.abs() >= kSignSwitch, r_q, r_k);
  head.vectors = aligned * at::where(decides < 0, -1.0, 1.0).unsqueeze(1);
  return head;
}

at::Tensor position_correlation(const HeadCases& head, const StreamCases& stream) {
  return correlation(stream, head.vectors, head.no_rank);
}

}  // namespace ropewalk
