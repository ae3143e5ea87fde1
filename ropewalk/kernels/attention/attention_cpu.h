#pragma once

#include <cstdint>
#include <span>

namespace ropewalk::cpu {

// The float32 vectors of every token of some heads. The numbers of a vector lie side by side;
// strides count numbers.
struct TokenVectors {
  const float* data = nullptr;
  int64_t head_stride = 0;
  int64_t token_stride = 0;
};

// The width of a vector that is padded with zeros to whole registers of any processor.
constexpr int64_t padded_width(int64_t d_head) { return (d_head + 15) / 16 * 16; }

// Causal attention of one document, see causal_attention().
struct Attention {
  TokenVectors q;  // kv_heads * groups heads
  TokenVectors k;  // kv_heads
  TokenVectors v;
  float* out = nullptr;  // [tokens, kv_heads, groups, d_head]
  int64_t tokens = 0;
  int64_t kv_heads = 0;
  int64_t groups = 0;
  int64_t d_head = 0;
  float scale = 1;
  int64_t window = 0;       // at least 1
  float* keys = nullptr;    // [kv_heads, panels, width, panel]: keys, transposed
  float* values = nullptr;  // [kv_heads, panels, panel, width]

  constexpr int64_t width() const { return padded_width(d_head); }
};

// The work is cut into pieces that any thread may do in any order: first all of pack, then all of
// attend. Every row of the result is computed by one thread in one order.
struct AttentionKernel {
  const char* name;
  int64_t panel;       // number of keys that are packed together
  int64_t block_rows;  // number of rows (of tokens * groups) of a block
  // Packs one panel of a KV head.
  void (*pack)(const Attention& attention, int64_t kv_head, int64_t panel);
  // Computes one block of a KV head, with a scratch of scratch_size(width) numbers.
  void (*attend)(const Attention& attention, int64_t kv_head, int64_t block, float* scratch);
  int64_t (*scratch_size)(int64_t width);
};

// The kernels that this processor can run, the fastest first; empty where only torch's own
// attention applies.
std::span<const AttentionKernel* const> attention_kernels();

}  // namespace ropewalk::cpu
