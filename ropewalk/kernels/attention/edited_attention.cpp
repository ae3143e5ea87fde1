#include "ropewalk/kernels/attention/edited_attention.h"

#include <algorithm>
#include <limits>

namespace ropewalk {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The number of queries at a time; on a CPU, such that a block of scores stays in its caches.
int64_t block_rows(int64_t heads, int64_t tokens, const at::Device& device) {
  const int64_t scores = int64_t{1} << (device.is_cuda() ? 25 : 19);
  return std::clamp<int64_t>(scores / (heads * tokens), 16, 1024);
}

// S by distance, stored so that its block for some queries and keys is a view.
class ScoresByDistance {
 public:
  ScoresByDistance(const at::Tensor& logits, const ScoreOptions& options, const ScoreChange& change,
                   int64_t tokens, int64_t rows, const at::Device& device)
      : tokens_(tokens) {
    const at::Tensor s = logits.slice(1, 0, tokens);
    // Behind distance 0 follow distances that no query sees.
    turned_ = at::constant_pad_nd(s.flip(1), {0, rows}).to(device, at::kFloat).contiguous();
    // S averaged over the distances of all keys that a query sees, [heads, T] by query.
    const auto index_options = at::TensorOptions().dtype(at::kLong);
    const at::Tensor seen = (at::arange(tokens, index_options) - change.first + 1)
                                .clamp(1, options.window.value_or(tokens));
    mean_ = (s.cumsum(1).index_select(1, seen - 1) / seen).to(device, at::kFloat);
  }

  // [heads, rows, keys] with the last query first: for queries up to end - 1 and keys from
  // `first_key` on.
  at::Tensor block(int64_t rows, int64_t first_key, int64_t end) const {
    const int64_t farthest = end - 1 - first_key;
    return turned_.as_strided({turned_.size(0), rows, end - first_key}, {turned_.stride(0), 1, 1},
                              tokens_ - 1 - farthest);
  }
  // [heads, rows, 1] for the same queries.
  at::Tensor mean(int64_t begin, int64_t end) const {
    return mean_.slice(1, begin, end).flip(1).unsqueeze(2);
  }

 private:
  int64_t tokens_;
  at::Tensor turned_;
  at::Tensor mean_;
};

// The numbers to add to the scores of queries begin … end - 1, the last one first: 0, or minus
// infinity for keys that are not seen, [rows, keys]. `distance` is that of query and key.
at::Tensor unseen(const at::Tensor& distance, const at::Tensor& late, const ScoreOptions& options,
                  const std::optional<int64_t>& within) {
  at::Tensor hidden = distance.lt(0);
  if (options.window) hidden.logical_or_(distance.ge(*options.window));
  if (within) hidden.logical_or_(distance.gt(*within).logical_and_(late));
  return at::zeros(distance.sizes(), distance.options().dtype(at::kFloat))
      .masked_fill_(hidden, -kInfinity);
}

}  // namespace

at::Tensor edited_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const ScoreOptions& options, const ScoreChange& change) {
  const int64_t heads = q.size(0), tokens = q.size(1), d_head = q.size(2);
  const int64_t rows = block_rows(heads, tokens, q.device());
  const int64_t window = options.window.value_or(tokens);
  const at::Tensor keys = k.transpose(1, 2);  // [heads, d_head, T]
  std::optional<ScoresByDistance> taken;
  if (change.by_distance.defined()) {
    taken.emplace(change.by_distance, options, change, tokens, rows, q.device());
  }
  at::Tensor slopes, sinks;  // [heads, 1, 1]
  if (options.slopes.defined()) slopes = options.slopes.view({heads, 1, 1});
  if (options.sinks.defined()) sinks = options.sinks.to(at::kFloat).view({heads, 1, 1});
  const at::Tensor result = at::empty({tokens - change.first, heads, d_head}, q.options());
  const auto index_options = at::TensorOptions().dtype(at::kLong).device(q.device());
  for (int64_t begin = change.first; begin < tokens; begin += rows) {
    const int64_t end = std::min(begin + rows, tokens);
    const int64_t first_key = std::max<int64_t>(0, begin - window + 1);
    // Number of keys whose scores stay.
    const int64_t early = std::max<int64_t>(0, change.first - first_key);
    // Queries are reversed, so that S by distance is a view.
    const at::Tensor queries = q.slice(1, begin, end).flip(1);
    at::Tensor scores = at::matmul(queries, keys.slice(2, first_key, end)).mul_(options.scale);
    const at::Tensor key_index = at::arange(first_key, end, index_options);
    const at::Tensor distance =
        at::arange(begin, end, index_options).flip(0).unsqueeze(1) - key_index;
    if (slopes.defined()) scores.sub_(slopes * distance);
    const at::Tensor fall = unseen(distance, key_index.ge(change.first), options, change.within);
    scores.add_(fall);
    if (taken) {
      at::Tensor late = scores.slice(2, early);
      at::Tensor shift;
      if (change.keep_mass) shift = at::logsumexp(late, -1, /*keepdim=*/true);
      late.sub_(taken->block(end - begin, first_key + early, end));
      if (change.keep_mass) {
        shift.sub_(at::logsumexp(late, -1, /*keepdim=*/true));
      } else {
        shift = taken->mean(begin, end);
      }
      late.add_(shift);
    }
    if (options.cap) scores.div_(*options.cap).tanh_().mul_(*options.cap).add_(fall);
    const at::Tensor weights = softmax_with_sink_(scores, sinks);
    const at::Tensor out = at::matmul(weights, v.slice(1, first_key, end));
    result.slice(0, begin - change.first, end - change.first).copy_(out.flip(1).transpose(0, 1));
  }
  return result;
}

int64_t edited_attention_workspace(int64_t heads, int64_t tokens, const at::Device& device) {
  constexpr auto kSingle = static_cast<int64_t>(sizeof(float));
  const int64_t rows = std::min(block_rows(heads, tokens, device), tokens);
  // Scores, inputs of their log-sums, and probabilities; S; the distances of queries and keys.
  return 3 * heads * rows * tokens * kSingle + 6 * heads * tokens * kSingle + 4 * rows * tokens * 8;
}

}  // namespace ropewalk
