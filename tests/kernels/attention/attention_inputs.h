#pragma once

#include <limits>
#include <optional>
#include <ostream>

#include "tests/kernels/tensors.h"

namespace ropewalk {

// Softmax over the tokens a query sees, in float64: [T, heads * d].
inline at::Tensor naive_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                  double scale, int64_t window) {
  const int64_t tokens = q.size(1);
  const int64_t group = q.size(0) / k.size(0);
  const at::Tensor keys = k.to(at::kDouble).repeat_interleave(group, 0);
  const at::Tensor values = v.to(at::kDouble).repeat_interleave(group, 0);
  const at::Tensor scores = q.to(at::kDouble).matmul(keys.transpose(1, 2)) * scale;
  const at::Tensor all = at::ones({tokens, tokens}, at::kBool);
  const at::Tensor seen = all.tril().logical_and(all.triu(1 - window));
  const at::Tensor weights =
      scores.masked_fill(seen.logical_not(), -std::numeric_limits<double>::infinity()).softmax(2);
  return weights.matmul(values).transpose(0, 1).flatten(1);
}

struct AttentionCase {
  int64_t heads = 2;
  int64_t kv_heads = 2;
  int64_t tokens = 5;
  std::optional<int64_t> window = {};
  int64_t d_head = 4;
  double scale = 0.7;
  double size = 2;  // size of queries and keys
};

inline std::ostream& operator<<(std::ostream& out, const AttentionCase& shape) {
  return out << shape.heads << "/" << shape.kv_heads << " heads of " << shape.d_head << ", "
             << shape.tokens << " tokens, window " << shape.window.value_or(-1);
}

// Tensors as in a layer: parts of one [T, width] product.
struct AttendedTensors {
  at::Tensor q;
  at::Tensor k;
  at::Tensor v;
};

inline AttendedTensors inputs_of(const AttentionCase& shape) {
  const int64_t all = shape.heads + 2 * shape.kv_heads;
  const at::Tensor product = random_tensor({shape.tokens, all, shape.d_head}, 1).transpose(0, 1);
  product.slice(0, 0, all - shape.kv_heads).mul_(shape.size);
  return {product.slice(0, 0, shape.heads),
          product.slice(0, shape.heads, shape.heads + shape.kv_heads),
          product.slice(0, shape.heads + shape.kv_heads)};
}

}  // namespace ropewalk
