#include "ropewalk/kernels/attention/attention.h"

#include <algorithm>
#include <atomic>

#include "ropewalk/kernels/attention/attention_cpu.h"
#include "ropewalk/kernels/attention/biased_attention.h"
#include "ropewalk/kernels/processor.h"

namespace ropewalk {
namespace {

// The number of queries that a sliding layer handles at a time: its mask is [kWindowBlock,
// kWindowBlock + window], never [T, T].
constexpr int64_t kWindowBlock = 1024;

// Repeats KV heads for their query heads without copies: [n_kv_heads, groups, T, d_head], where
// sdpa treats KV heads as a batch.
at::Tensor repeated_heads(const at::Tensor& x, int64_t groups) {
  return x.unsqueeze(1).expand({x.size(0), groups, x.size(1), x.size(2)});
}

// cuDNN's kernel supports grouped queries and is the fastest on data-centre GPUs.
bool suits_cudnn(const at::Tensor& q) {
  return q.is_cuda() && q.scalar_type() == at::kBFloat16 && q.size(2) % 8 == 0 &&
         q.size(2) <= 128 && at::globalContext().userEnabledCuDNNSDP() &&
         at::globalContext().userEnabledCuDNN();
}

// cuDNN prepares itself once for each length, which takes longer than most documents, so lengths
// are rounded up. Causal attention gives a token the same result whatever tokens follow it.
constexpr int64_t kLengthStep = 256;

at::Tensor cudnn_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                           double scale) {
  const int64_t tokens = q.size(1);
  const int64_t missing = (kLengthStep - tokens % kLengthStep) % kLengthStep;
  const auto padded = [&](const at::Tensor& x) {
    return (missing == 0 ? x : at::constant_pad_nd(x, {0, 0, 0, missing})).unsqueeze(0);
  };
  const at::Tensor out = std::get<0>(at::_scaled_dot_product_cudnn_attention(
      padded(q), padded(k), padded(v), {}, /*compute_log_sumexp=*/false, 0.0,
      /*is_causal=*/true, /*return_debug_mask=*/false, scale));
  return out.squeeze(0).slice(1, 0, tokens);
}

// Our own kernel for this processor, where there is one and it is the fastest. It computes in
// float32. So does torch's kernel for bfloat16 without AMX, which converts the same numbers
// repeatedly.
const cpu::AttentionKernel* best_kernel(const at::Device& device, at::ScalarType dtype) {
  const auto kernels = cpu::attention_kernels();
  const bool suits = dtype == at::kFloat || (dtype == at::kBFloat16 && !cpu::has_bfloat16_tiles());
  return device.is_cpu() && suits && !kernels.empty() ? kernels.front() : nullptr;
}

// How cpu_attention divides its work, and how many numbers it holds besides its inputs and output.
struct CpuPlan {
  CpuPlan(const cpu::AttentionKernel& kernel, int64_t n_q_heads, int64_t n_kv_heads, int64_t tokens,
          int64_t width)
      : panels(at::divup(tokens, kernel.panel)),
        blocks(n_kv_heads * at::divup(tokens * (n_q_heads / n_kv_heads), kernel.block_rows)),
        threads(std::min<int64_t>(at::get_num_threads(), blocks)),
        packed(n_kv_heads * panels * kernel.panel * width),
        scratch(kernel.scratch_size(width)) {}
  int64_t panels;   // of each KV head
  int64_t blocks;   // of all KV heads
  int64_t threads;  // with one scratch each
  int64_t packed;   // numbers of all packed keys, and of all packed values
  int64_t scratch;
  int64_t numbers() const { return 2 * packed + threads * scratch; }
};

}  // namespace

at::Tensor cpu_attention(const cpu::AttentionKernel& kernel, const at::Tensor& q,
                         const at::Tensor& k, const at::Tensor& v, double scale,
                         std::optional<int64_t> window) {
  const int64_t tokens = q.size(1);
  const int64_t d_head = q.size(2);
  const int64_t kv_heads = k.size(0);
  const int64_t groups = q.size(0) / kv_heads;
  const at::Tensor out = at::empty({tokens, kv_heads, groups, d_head}, q.options());
  // The numbers of a vector must lie side by side.
  const auto dense = [](const at::Tensor& x) { return x.stride(2) == 1 ? x : x.contiguous(); };
  const auto vectors = [](const at::Tensor& x) {
    return cpu::TokenVectors{x.const_data_ptr<float>(), x.stride(0), x.stride(1)};
  };
  const at::Tensor queries = dense(q);
  const at::Tensor keys = dense(k);
  const at::Tensor values = dense(v);
  cpu::Attention attention{.q = vectors(queries),
                           .k = vectors(keys),
                           .v = vectors(values),
                           .out = out.mutable_data_ptr<float>(),
                           .tokens = tokens,
                           .kv_heads = kv_heads,
                           .groups = groups,
                           .d_head = d_head,
                           .scale = static_cast<float>(scale),
                           .window = std::min(window.value_or(tokens), tokens)};
  const CpuPlan plan(kernel, q.size(0), kv_heads, tokens, attention.width());
  const at::Tensor workspace = at::empty({plan.numbers()}, q.options());
  attention.keys = workspace.mutable_data_ptr<float>();
  attention.values = attention.keys + plan.packed;
  at::parallel_for(0, kv_heads * plan.panels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) kernel.pack(attention, i / plan.panels, i % plan.panels);
  });
  // The longest blocks come first, and each goes to the first free thread.
  std::atomic<int64_t> next = 0;
  at::parallel_for(0, plan.threads, 1, [&](int64_t thread, int64_t) {
    float* scratch = attention.values + plan.packed + thread * plan.scratch;
    for (int64_t i = next++; i < plan.blocks; i = next++) {
      kernel.attend(attention, i % kv_heads, (plan.blocks - 1 - i) / kv_heads, scratch);
    }
  });
  return out;
}

at::Tensor causal_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            double scale, std::optional<int64_t> window) {
  const int64_t heads = q.size(0);
  const int64_t tokens = q.size(1);
  const int64_t d_head = q.size(2);
  const int64_t groups = heads / k.size(0);
  if (const auto* kernel = best_kernel(q.device(), q.scalar_type())) {
    const auto single = [](const at::Tensor& x) { return x.to(at::kFloat); };
    return cpu_attention(*kernel, single(q), single(k), single(v), scale, window)
        .to(q.scalar_type());
  }
  const bool whole = !window || *window >= tokens;
  if (whole && suits_cudnn(q)) {
    return cudnn_attention(q, k, v, scale).transpose(0, 1).unflatten(1, {k.size(0), groups});
  }
  // torch's float32 kernel with a mask is wrong at some lengths where heads share keys.
  if (!whole && q.is_cuda() && q.scalar_type() == at::kFloat) {
    return biased_attention(q, k, v, {scale, window});
  }
  const at::Tensor queries = q.view({k.size(0), groups, tokens, d_head});
  const at::Tensor keys = repeated_heads(k, groups);
  const at::Tensor values = repeated_heads(v, groups);
  if (whole) {
    const at::Tensor out =
        at::scaled_dot_product_attention(queries, keys, values, {}, 0.0, /*is_causal=*/true, scale);
    return out.permute({2, 0, 1, 3});
  }
  at::Tensor result = at::empty({tokens, k.size(0), groups, d_head}, q.options());
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
    result.slice(0, begin, end).copy_(out.permute({2, 0, 1, 3}));
  }
  return result;
}

int64_t causal_attention_workspace(const AttentionShape& shape, at::ScalarType dtype,
                                   const at::Device& device) {
  const auto [q_heads, kv_heads, tokens, d_head, window] = shape;
  const auto element_size = static_cast<int64_t>(c10::elementSize(dtype));
  if (const auto* kernel = best_kernel(device, dtype)) {
    const CpuPlan plan(*kernel, q_heads, kv_heads, tokens, cpu::padded_width(d_head));
    const int64_t converted = dtype == at::kFloat ? 0 : 2 * (q_heads + kv_heads) * tokens * d_head;
    return (plan.numbers() + converted) * static_cast<int64_t>(sizeof(float));
  }
  if (device.is_cuda() && dtype == at::kFloat && window && *window < tokens) {
    return biased_attention_workspace(q_heads, tokens, d_head);
  }
  const int64_t out = q_heads * tokens * d_head * element_size;
  int64_t bytes = out / 4;  // what torch's threads hold
  if (device.is_cuda() && dtype == at::kFloat && d_head % 4 != 0) {
    bytes +=
        // No fused kernel applies: all scores at once.
        3 * q_heads * tokens * tokens * element_size;
  } else if (device.is_cuda() && dtype != at::kFloat && (d_head <= 128 || d_head % 8 != 0)) {
    // The padded inputs and the result.
    bytes = 4 * q_heads * (tokens + kLengthStep) * d_head * element_size;
  }
  if (window && *window < tokens) {
    const int64_t mask = kWindowBlock * (kWindowBlock + *window);
    bytes += mask * static_cast<int64_t>(2 * sizeof(int64_t));
    // On a GPU a boolean mask is turned into numbers to add, for each head.
    if (device.is_cuda()) bytes += 2 * mask * element_size * (q_heads / kv_heads);
  }
  return bytes;
}

}  // namespace ropewalk
