#pragma once

#include <cstdint>
#include <optional>

#include "ropewalk/kernels/torch.h"

namespace ropewalk {

// Causal attention whose scores are more than scaled products.
struct ScoreOptions {
  double scale = 1;
  std::optional<int64_t> window = {};  // as in causal_attention
  std::optional<double> cap = {};      // a score s becomes cap * tanh(s / cap)
  at::Tensor slopes = {};  // [n_q_heads] float32: less slope * distance (ALiBi); undefined: none
  at::Tensor sinks = {};   // [n_q_heads]: a score to which no value belongs; undefined: none
};

// q, k, v and what comes back are those of causal_attention. Scores are made a few queries at a
// time, in float32.
at::Tensor biased_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const ScoreOptions& options);

// Bytes beyond its inputs and output that biased_attention may hold at once.
int64_t biased_attention_workspace(int64_t n_q_heads, int64_t tokens, int64_t d_head);

// The softmax of scores [.., keys] and one more score, sink [.., 1] or undefined, less what goes to
// the sink. May overwrite the scores.
at::Tensor softmax_with_sink_(const at::Tensor& scores, const at::Tensor& sink);

// ALiBi's slopes (arXiv 2108.12409), [heads] float32: a geometric series for a power of two; the
// others take every second one of the next power's.
at::Tensor alibi_slopes(int64_t heads);

}  // namespace ropewalk
