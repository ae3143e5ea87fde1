#pragma once

#include <cstdint>
#include <optional>

#include "ropewalk/kernels/torch.h"

namespace ropewalk {

namespace cpu {
struct AttentionKernel;
}

// Causal attention of one document.
//   q [n_q_heads, T, d_head], k and v [n_kv_heads, T, d_head]; query head h reads KV head
//   h / (n_q_heads / n_kv_heads).
//   window: a token sees itself and the window - 1 tokens before it; nothing: all before it.
// Returns [T, n_kv_heads, n_q_heads / n_kv_heads, d_head], in the layout that costs no copy.
at::Tensor causal_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            double scale, std::optional<int64_t> window);

// causal_attention by one of cpu::attention_kernels(); float32 on the CPU.
at::Tensor cpu_attention(const cpu::AttentionKernel& kernel, const at::Tensor& q,
                         const at::Tensor& k, const at::Tensor& v, double scale,
                         std::optional<int64_t> window);

// The most bytes that causal_attention holds at once besides its inputs and output.
struct AttentionShape {
  int64_t n_q_heads = 0;
  int64_t n_kv_heads = 0;
  int64_t tokens = 0;
  int64_t d_head = 0;
  std::optional<int64_t> window;
};
int64_t causal_attention_workspace(const AttentionShape& shape, at::ScalarType dtype,
                                   const at::Device& device);

}  // namespace ropewalk
