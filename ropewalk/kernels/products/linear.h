#pragma once

#include "ropewalk/kernels/gpu/passes.h"
#include "ropewalk/kernels/torch.h"

// Products of rows with a layer's weights. A weight matrix is [n, depth], or it is packed for this
// processor (product_cpu.h): a flat tensor of n * depth numbers. Biases [n] may be undefined.
namespace ropewalk {

// Whether this processor has a kernel of ours for products in that dtype.
bool packs_weights(at::ScalarType dtype, const at::Device& device);
// A weight matrix [n, depth], packed in its own memory where packs_weights() holds, else unchanged.
at::Tensor packed_weights(const at::Tensor& weight);

// The n of a weight matrix, plain or packed.
int64_t columns_of(const at::Tensor& weight, int64_t depth);

// x weight^T + bias, [T, n], for x [T, depth]
at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);
void linear_into(at::Tensor out, const at::Tensor& x, const at::Tensor& weight,
                 const at::Tensor& bias);
// sum [T, n] += scale * (x weight^T + bias)
void add_linear(at::Tensor sum, const at::Tensor& x, const at::Tensor& weight,
                const at::Tensor& bias, double scale);
// activation(gate) * up, [T, n / 2]; gate and up are the halves [T, n / 2] of x weight^T + bias
at::Tensor gated_linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                        Activation activation);

// The bytes that a product with packed weights holds besides rows, weights and result.
int64_t linear_workspace(int64_t depth);

}  // namespace ropewalk
