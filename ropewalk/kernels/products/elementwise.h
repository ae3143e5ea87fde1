#pragma once

#include "ropewalk/kernels/gpu/passes.h"
#include "ropewalk/kernels/torch.h"

namespace ropewalk {

// The element-wise parts of a transformer layer. x is [..., d]; statistics are computed in float32
// whatever the dtype, and the result is rounded to x's dtype once.

// x / rms(x) * weight; or * (1 + weight) where `weight_plus_one` (Gemma). x has up to three
// dimensions.
at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps,
                    bool weight_plus_one);

// (x - mean) / sd * weight + bias
at::Tensor layer_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                      double eps);

// Rotates pairs of the first 2 * cos.size(1) dimensions of q and k, [heads, T, d_head] each, in
// place, by the angles whose cos and sin are [T, pairs] float32. A pair is (i, i + pairs), or
// (2i, 2i + 1) where `interleaved`.
void rotate_(const at::Tensor& q, const at::Tensor& k, const at::Tensor& cos, const at::Tensor& sin,
             bool interleaved);
// rotate_() into new tensors; the old ones stay as they are.
void rotate(at::Tensor& q, at::Tensor& k, const at::Tensor& cos, const at::Tensor& sin,
            bool interleaved);

// activation(x[:, :half]) * x[:, half:], which overwrites the first half of x [T, 2 * half];
// returns that half.
at::Tensor gate_(const at::Tensor& x, Activation activation);

// g * sigmoid(alpha * g) * (1 + u), with g = min(x[:, :half], limit) and u = x[:, half:] clamped to
// plus and minus limit; overwrites the first half of x and returns it.
at::Tensor cut_gate_(const at::Tensor& x, double alpha, double limit);

// May overwrite x to save memory.
at::Tensor activate(at::Tensor x, Activation activation);

// xIELU (arXiv 2411.13010): alpha_p x^2 + beta x for x > 0, else alpha_n (expm1(min(x, eps)) - x) +
// beta x, with alpha_p = softplus(raw alpha_p), alpha_n = beta + softplus(raw alpha_n).
struct XieluParameters {
  at::Tensor alpha_p;  // [1], raw
  at::Tensor alpha_n;  // [1], raw
  at::Tensor beta;     // [], undefined: 0.5
  at::Tensor eps;      // [], undefined: -1e-6
};
at::Tensor xielu(const at::Tensor& x, const XieluParameters& parameters);

}  // namespace ropewalk
