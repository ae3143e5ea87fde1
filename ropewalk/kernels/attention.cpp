#include "ropewalk/kernels/attention.h"

#include <algorithm>

namespace ropewalk {
namespace {

// Queries a sliding layer handles at a time: its mask is [kWindowBlock, kWindowBlock + window],
// never [T, T].
constexpr int64_t kWindowBlock = 1024;

// Without its own name for grouped queries, sdpa's fused CPU kernel wants as many KV heads as query
// heads.
at::Tensor repeat_heads(const at::Tensor& x, int64_t groups) {
  if (groups == 1) return x;
  return x.unsqueeze(1)
      .expand({x.size(0), groups, x.size(1), x.size(2)})
      .reshape({x.size(0) * groups, x.size(1), x.size(2)});
}

}  // namespace

at::Tensor causal_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            double scale, std::optional<int64_t> window) {
  const int64_t heads = q.size(0);
  const int64_t tokens = q.size(1);
  const int64_t d_head = q.size(2);
  const int64_t groups = heads / k.size(0);
  const at::Tensor keys = repeat_heads(k, groups).unsqueeze(0);
  const at::Tensor values = repeat_heads(v, groups).unsqueeze(0);
  const at::Tensor queries = q.unsqueeze(0);
  if (!window || *window >= tokens) {
    const at::Tensor out =
        at::scaled_dot_product_attention(queries, keys, values, {}, 0.0, /*is_causal=*/true, scale);
    return out.squeeze(0).transpose(0, 1).reshape({tokens, heads * d_head});
  }
  at::Tensor result = at::empty({tokens, heads, d_head}, q.options());
  for (int64_t begin = 0; begin < tokens; begin += kWindowBlock) {
    const int64_t end = std::min(begin + kWindowBlock, tokens);
    const int64_t first_key = std::max<int64_t>(0, begin - *window + 1);
    const auto options = at::TensorOptions().dtype(at::kLong).device(q.device());
    const at::Tensor distance = at::arange(begin, end, options).unsqueeze(1) -
                                at::arange(first_key, end, options).unsqueeze(0);
    const at::Tensor mask = distance.ge(0).logical_and_(distance.lt(*window));
    const at::Tensor out = at::scaled_dot_product_attention(
        queries.slice(2, begin, end), keys.slice(2, first_key, end),
        values.slice(2, first_key, end), mask, 0.0, /*is_causal=*/false, scale);
    result.slice(0, begin, end).copy_(out.squeeze(0).transpose(0, 1));
  }
  return result.view({tokens, heads * d_head});
}

int64_t causal_attention_workspace(int64_t n_q_heads, int64_t n_kv_heads, int64_t tokens,
                                   int64_t d_head, int64_t element_size,
                                   std::optional<int64_t> window) {
  int64_t bytes = n_q_heads * tokens * d_head * element_size;  // output before its transposition
  if (n_kv_heads != n_q_heads) bytes += 2 * n_q_heads * tokens * d_head * element_size;
  if (window && *window < tokens) {
    bytes += kWindowBlock * (kWindowBlock + *window) * static_cast<int64_t>(2 * sizeof(int64_t));
  }
  return bytes;
}

}  // namespace ropewalk
