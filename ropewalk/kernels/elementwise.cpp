#include "ropewalk/kernels/elementwise.h"

#include "ropewalk/base/error.h"

namespace ropewalk {

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps,
                    bool weight_plus_one) {
  at::Tensor scale = weight.to(at::kFloat);
  if (weight_plus_one) scale = scale + 1.0;
  const at::Tensor wide = x.to(at::kFloat);
  const at::Tensor inverse = wide.square().mean(-1, /*keepdim=*/true).add_(eps).rsqrt_();
  return (wide * inverse).mul_(scale).to(x.scalar_type());
}

at::Tensor layer_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                      double eps) {
  return at::layer_norm(x, {x.size(-1)}, weight, bias, eps);
}

at::Tensor rotate(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin,
                  bool interleaved) {
  const int64_t pairs = cos.size(1);
  at::Tensor result = at::empty(x.sizes(), x.options());
  const auto half = [&](const at::Tensor& tensor, int64_t which) {
    return interleaved ? tensor.slice(2, which, 2 * pairs, 2)
                       : tensor.slice(2, which * pairs, (which + 1) * pairs);
  };
  const at::Tensor first = half(x, 0).to(at::kFloat);
  const at::Tensor second = half(x, 1).to(at::kFloat);
  half(result, 0).copy_((first * cos).sub_(second * sin));
  half(result, 1).copy_((second * cos).add_(first * sin));
  if (2 * pairs < x.size(2)) result.slice(2, 2 * pairs).copy_(x.slice(2, 2 * pairs));
  return result;
}

at::Tensor activate(at::Tensor x, Activation activation) {
  switch (activation) {
    case Activation::silu:
      return at::silu_(x);
    case Activation::gelu:
      return at::gelu_(x);
    case Activation::gelu_tanh:
      return at::gelu_(x, "tanh");
    case Activation::relu:
      return x.relu_();
    case Activation::relu_squared:
      return x.relu_().square_();
    case Activation::xielu:
      break;
  }
  throw UsageError("[activate] xielu has parameters of its own; call xielu()");
}

at::Tensor xielu(const at::Tensor& x, const XieluParameters& parameters) {
  const auto scalar = [&](const at::Tensor& tensor, double otherwise) {
    return tensor.defined() ? tensor.to(at::kFloat)
                            : at::full({}, otherwise, x.options().dtype(at::kFloat));
  };
  const at::Tensor beta = scalar(parameters.beta, 0.5);
  const at::Tensor eps = scalar(parameters.eps, -1e-6);
  const at::Tensor wide = x.to(at::kFloat);
  const at::Tensor positive = at::softplus(parameters.alpha_p.to(at::kFloat));
  const at::Tensor negative = at::softplus(parameters.alpha_n.to(at::kFloat)) + beta;
  const at::Tensor curved = at::where(wide > 0, positive * wide.square(),
                                      (at::expm1(at::minimum(wide, eps)) - wide) * negative);
  return (curved + beta * wide).to(x.scalar_type());
}

}  // namespace ropewalk
