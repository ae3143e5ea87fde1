#include "ropewalk/analysis/replicates/head_replicates.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "ropewalk/analysis/math/tensor_rows.h"
#include "ropewalk/analysis/replicates/drift_axis.h"
#include "ropewalk/analysis/replicates/rope_replicates.h"
#include "ropewalk/kernels/moments/rows.h"
#include "ropewalk/kernels/products/symmetric.h"

namespace ropewalk {
namespace {

// Variances below this share of the total are rounding errors.
constexpr double kNoVariance = 1e-12;
// Below this share of the largest variance, a difference has lost too many digits.
constexpr double kLittle = 1e-3;

// The pooled covariance of queries and keys: (products of queries + products of keys + weight ·
// offset offsetᵀ) / over.
struct PooledStreams {
  PooledStreams(const StreamReplicates& q, const StreamReplicates& k)
      : offset((q.mean - k.mean).contiguous()),
        weight(q.tokens * k.tokens / (q.tokens + k.tokens).clamp_min(1)),
        over((q.tokens + k.tokens - 1).clamp_min(1)) {}
  at::Tensor offset;  // [replicates, d]
  at::Tensor weight;  // [replicates]
  at::Tensor over;    // [replicates]
};

// Covariance of queries and keys together, [replicates, d, d].
at::Tensor pooled_covariance(const StreamReplicates& q, const StreamReplicates& k,
                             const PooledStreams& pool) {
  const at::Tensor a = q.products.contiguous(), b = k.products.contiguous();
  at::Tensor pooled = at::empty_like(a);
  for (int64_t i = 0; i < a.size(0); ++i) {
    pool_matrices(mutable_row(pooled, i), row(a, i), row(b, i), row(pool.offset, i),
                  *row(pool.weight, i), *row(pool.over, i), a.size(1));
  }
  return pooled;
}

// Products of keys times rows [replicates, n, d]. The rows are eigenvectors of the pooled
// covariance with these values, so the result is mostly the pooled image less the image of queries.
// For the whole sample, and where this difference is small, it is computed from the products
// themselves.
at::Tensor image_of_keys(const StreamReplicates& keys, const PooledStreams& pool,
                         const at::Tensor& rows, const at::Tensor& values,
                         const at::Tensor& image_of_queries) {
  const int64_t cases = rows.size(0), count = rows.size(1), d = rows.size(2);
  const at::Tensor largest = values.contiguous(), products = keys.products.contiguous();
  at::Tensor image = at::empty_like(rows);
  at::Tensor some = at::empty({count, d}, at::kDouble), some_image = at::empty_like(some);
  std::vector<int64_t> little;
  for (int64_t i = 0; i < cases; ++i) {
    const double *const value = row(largest, i), over = *row(pool.over, i);
    little.clear();
    for (int64_t j = 0; j < count; ++j) {
      const double* const vector = row(rows, i) + j * d;
      double* const to = mutable_row(image, i) + j * d;
      std::copy_n(row(image_of_queries, i) + j * d, d, to);
      blend(to, -1, over * value[j], vector, d);
      const double apart = dot(row(pool.offset, i), vector, d);
      blend(to, 1, -*row(pool.weight, i) * apart, row(pool.offset, i), d);
      if (i > 0 && dot(to, vector, d) > kLittle * over * value[0]) continue;
      std::copy_n(vector, d, mutable_row(some, static_cast<int64_t>(little.size())));
      little.push_back(j);
    }
    multiply_rows(mutable_row(some_image, 0), row(some, 0), static_cast<int64_t>(little.size()),
                  row(products, i), d);
    for (size_t j = 0; j < little.size(); ++j) {
      std::copy_n(row(some_image, static_cast<int64_t>(j)), d,
                  mutable_row(image, i) + little[j] * d);
    }
  }
  return image;
}

// Sums of squares along vectors [replicates, d, c]: [replicates, c].
at::Tensor squares_along(const StreamReplicates& stream, const at::Tensor& vectors) {
  const at::Tensor rows = vectors.transpose(1, 2).contiguous();
  return (times_products(rows, stream.products) * rows).sum(2);
}

// Correlation with position along vectors [replicates, d, c], given the sums of squares along them
// and a mask of the directions without variance: [replicates, c]. NaN where undefined.
at::Tensor correlation(const StreamReplicates& stream, const at::Tensor& vectors,
                       const at::Tensor& squares, const at::Tensor& no_rank) {
  const at::Tensor covariance = at::bmm(stream.position.unsqueeze(1), vectors).squeeze(1);
  const at::Tensor floor = (stream.products.diagonal(0, 1, 2).sum(1) * kNoVariance).unsqueeze(1);
  const at::Tensor scatter = stream.position_scatter.unsqueeze(1);
  const at::Tensor defined =
      (squares > floor).logical_and(scatter > 0).logical_and(no_rank.logical_not());
  const at::Tensor r = covariance / (squares * scatter).clamp_min(0).sqrt();
  return at::where(defined, r.clamp(-1, 1), at::full_like(r, kUndefined));
}

at::Tensor correlation(const StreamReplicates& stream, const at::Tensor& vectors,
                       const at::Tensor& no_rank) {
  return correlation(stream, vectors, squares_along(stream, vectors), no_rank);
}

at::Tensor correlation_of(const HeadReplicates& head, const StreamReplicates& stream,
                          const at::Tensor& image) {
  const at::Tensor squares = (image.slice(2, 0, head.components()) * head.vectors).sum(1);
  return correlation(stream, head.vectors, squares, head.no_rank);
}

// Replicate 0 only.
StreamReplicates whole_sample(const StreamReplicates& stream) {
  const auto first = [](const at::Tensor& all) { return all.slice(0, 0, 1); };
  StreamReplicates whole;
  whole.tokens = first(stream.tokens);
  whole.position_mean = first(stream.position_mean);
  whole.position_scatter = first(stream.position_scatter);
  whole.mean = first(stream.mean);
  whole.position = first(stream.position);
  whole.products = first(stream.products);
  return whole;
}

// The sign, 1 or -1, that the sign rule gives vectors [1, d, c] of the whole sample: [1, c].
at::Tensor rule_sign(const StreamReplicates& queries, const StreamReplicates& keys,
                     const at::Tensor& vectors, const at::Tensor& no_rank) {
  const at::Tensor r_q = correlation(whole_sample(queries), vectors, no_rank);
  const at::Tensor r_k = correlation(whole_sample(keys), vectors, no_rank);
  const at::Tensor decides = at::where(r_q.abs() >= kSignSwitch, r_q, r_k);
  return at::where(decides < 0, -1.0, 1.0);
}

}  // namespace

at::Tensor StreamReplicates::variance_along(const at::Tensor& directions) const {
  if (directions.dim() == 2) return variance_along(directions.unsqueeze(2)).squeeze(1);
  return squares_along(*this, directions) / tokens.unsqueeze(1);
}

const at::Tensor& StreamReplicates::full_sample_eigenvalues() const {
  if (!shared->values.defined()) {
    std::tie(shared->values, shared->vectors) = at::linalg_eigh(products[0]);
  }
  return shared->values;
}

const at::Tensor& StreamReplicates::full_sample_eigenvectors() const {
  full_sample_eigenvalues();
  return shared->vectors;
}

at::Tensor HeadReplicates::variance() const {
  const at::Tensor tokens = queries.tokens + keys.tokens;
  return trace * ((tokens - 1) / tokens);
}

StreamReplicates leave_one_out(const StreamInput& stream) {
  const auto options = at::TensorOptions().dtype(at::kDouble);
  const auto vector = [&](const std::vector<double>& v) { return at::tensor(v, options); };
  const at::Tensor taken = vector(stream.block_tokens);  // [blocks]
  const at::Tensor left = stream.tokens - taken;
  const at::Tensor share = at::where(left > 0, taken / left, at::zeros_like(left));
  const at::Tensor mean = stream.mean + (stream.mean - stream.block_mean) * share.unsqueeze(1);
  const at::Tensor t_mean =
      stream.position_mean + (stream.position_mean - vector(stream.block_position_mean)) * share;
  const at::Tensor offset = (stream.block_mean - mean).contiguous();     // [blocks, d]
  const at::Tensor drift = vector(stream.block_position_mean) - t_mean;  // [blocks]
  const at::Tensor weight = taken * left / stream.tokens;
  StreamReplicates cases;
  cases.tokens = at::cat({at::full({1}, stream.tokens, options), left});
  cases.input = stream;
  cases.position_mean = at::cat({at::full({1}, stream.position_mean, options), t_mean});
  cases.position_scatter = at::cat(
      {at::full({1}, stream.position_scatter, options),
       stream.position_scatter - vector(stream.block_position_scatter) - weight * drift.square()});
  cases.mean = at::cat({stream.mean.unsqueeze(0), mean});
  cases.position =
      at::cat({stream.position.unsqueeze(0),
               stream.position - stream.block_position - offset * (weight * drift).unsqueeze(1)});
  const int64_t blocks = taken.size(0), d = stream.mean.size(0);
  const at::Tensor whole = stream.products.contiguous();
  const at::Tensor parts = stream.block_products.contiguous();
  cases.products = at::empty({blocks + 1, d, d}, options);
  cases.products[0].copy_(whole);
  for (int64_t b = 0; b < blocks; ++b) {
    subtract_part(mutable_row(cases.products, b + 1), row(whole, 0), row(parts, b), row(offset, b),
                  *row(weight, b), d);
  }
  return cases;
}

HeadReplicates make_replicates(const StreamReplicates& queries, const StreamReplicates& keys,
                               int64_t components, const LogitUnits& units) {
  HeadReplicates head;
  head.units = units;
  head.queries = queries;
  head.keys = keys;
  if (queries.input.layer) {
    head.rope = std::make_shared<const RopeReplicates>(
        RopeReplicates{queries.input.layer, queries.input.part<PreRopeReplicates>("pre_rope"),
                       keys.input.part<PreRopeReplicates>("pre_rope"),
                       queries.input.part<LagReplicates>("lags"), queries.input.slope});
  }
  const PooledStreams pool(queries, keys);
  const at::Tensor covariance = pooled_covariance(queries, keys, pool);
  const int64_t d = covariance.size(1);
  const int64_t kept = std::min(components, d), leading = std::min(std::max(kLeading, kept), d);
  head.widest =
      widest_axes({covariance, queries.tokens + keys.tokens, head.offset(),
                   head.share_q() * head.share_k(), drift_axis(head).nan_to_num(0, 0, 0), leading});
  const at::Tensor values = head.widest.values.clamp_min(0);
  head.trace = covariance.diagonal(0, 1, 2).sum(1);
  // A component without variance has no direction, and so no correlation.
  const at::Tensor no_rank = values <= (head.trace * kNoVariance).unsqueeze(1);
  const at::Tensor& vectors = head.widest.vectors;
  // Vectors of replicates are oriented like the vectors of the whole sample.
  const at::Tensor overlap = (vectors * vectors.slice(0, 0, 1)).sum(2);  // [replicates, leading]
  const at::Tensor way = at::where(overlap < 0, -1.0, 1.0);
  // The sign rule: r_q >= 0, or r_k >= 0 where r_q is close to 0.
  const at::Tensor sign =
      rule_sign(queries, keys, vectors.slice(0, 0, 1).transpose(1, 2), no_rank.slice(0, 0, 1));
  const at::Tensor rows = (vectors * (way * sign).unsqueeze(2)).contiguous();
  head.leading = rows.transpose(1, 2);
  const at::Tensor image = times_products(rows, queries.products);
  head.q_image = image.transpose(1, 2);
  head.k_image = image_of_keys(keys, pool, rows, head.widest.values, image).transpose(1, 2);
  head.vectors = head.leading.slice(2, 0, kept);
  head.eigenvalues = values.slice(1, 0, kept);
  head.no_rank = no_rank.slice(1, 0, kept);
  head.overlap = overlap.slice(1, 0, kept);
  return head;
}

at::Tensor correlation_of_queries(const HeadReplicates& head) {
  return correlation_of(head, head.queries, head.q_image);
}

at::Tensor correlation_of_keys(const HeadReplicates& head) {
  return correlation_of(head, head.keys, head.k_image);
}

at::Tensor correlation_along(const StreamReplicates& stream, const at::Tensor& directions,
                             const at::Tensor& variances) {
  const at::Tensor squares = (variances * stream.tokens).unsqueeze(1);
  const at::Tensor ranks = at::zeros({directions.size(0), 1}, at::kBool);
  return correlation(stream, directions.unsqueeze(2), squares, ranks).squeeze(1);
}

at::Tensor orient_to_full_sample(const HeadReplicates& head, const at::Tensor& directions) {
  const at::Tensor overlap = row_dot(directions, directions.slice(0, 0, 1));
  const at::Tensor aligned = directions * at::where(overlap < 0, -1.0, 1.0).unsqueeze(1);
  const at::Tensor ranks = at::zeros({1, 1}, at::kBool);
  return aligned * rule_sign(head.queries, head.keys, aligned.slice(0, 0, 1).unsqueeze(2), ranks);
}

at::Tensor row_dot(const at::Tensor& a, const at::Tensor& b) { return (a * b).sum(1); }

at::Tensor matrix_dot(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor x = a.contiguous(), y = b.contiguous();
  at::Tensor found = at::empty({x.size(0)}, at::kDouble);
  for (int64_t i = 0; i < x.size(0); ++i) {
    *mutable_row(found, i) = dot(row(x, i), row(y, i), x.size(1) * x.size(2));
  }
  return found;
}

at::Tensor times_products(const at::Tensor& rows, const at::Tensor& products) {
  const at::Tensor x = rows.contiguous(), matrices = products.contiguous();
  const int64_t cases = matrices.size(0), count = x.size(-2), d = x.size(-1);
  at::Tensor found = at::empty({cases, count, d}, at::kDouble);
  for (int64_t i = 0; i < cases; ++i) {
    const double* const own = x.dim() == 2 ? row(x, 0) : row(x, i);
    multiply_rows(mutable_row(found, i), own, count, row(matrices, i), d);
  }
  return found;
}

}  // namespace ropewalk
