#pragma once

#include <cstdint>
#include <optional>

#include "ropewalk/kernels/torch.h"

namespace ropewalk {

// Causal attention with more than scaled dot products as scores.
struct ScoreOptions {
  double scale = 1;
  std::optional<int64_t> window = {};  // as in causal_attention
  std::optional<double> cap = {};      // a score s becomes cap * tanh(s / cap)
  // [n_q_heads] float32: scores lose slope * distance (ALiBi); undefined: none
  at::Tensor slopes = {};
  at::Tensor sinks = {};  // [n_q_heads]: one more score, without a value; undefined: none
};

// q, k, v and the result are as in causal_attention. Scores are computed in float32, a few queries
// at a time.
at::Tensor biased_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const ScoreOptions& options);

// The most bytes that biased_attention holds at once besides its inputs and output.
int64_t biased_attention_workspace(int64_t n_q_heads, int64_t tokens, int64_t d_head);

// The softmax over scores [.., keys] and one more score, sink [.., 1] or undefined, without the
// sink's share. May overwrite the scores.
at::Tensor softmax_with_sink_(const at::Tensor& scores, const at::Tensor& sink);

// ALiBi's slopes (arXiv 2108.12409), [heads] float32: a geometric series for a power of two; beyond
// it, every second slope of the next power's series.
at::Tensor alibi_slopes(int64_t heads);

}  // namespace ropewalk
