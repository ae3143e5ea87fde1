#include "ropewalk/kernels/products/elementwise.h"

#include <algorithm>

#include "ropewalk/base/error.h"
#include "ropewalk/kernels/gpu/gpu.h"

namespace ropewalk {
namespace {

// The number of rows that a thread takes at a time: enough to be worth waking it.
int64_t grain(int64_t width) { return std::max<int64_t>(1, 16384 / std::max<int64_t>(1, width)); }

template <typename Pass>
void run_on_cpu(const Pass& pass, int64_t width) {
  at::parallel_for(0, pass.x.count(), grain(width),
                   [&](int64_t begin, int64_t end) { cpu::run(pass, begin, end); });
}

// [.., .., d] with a dense last dimension, as rows.
StridedRows rows_of(const at::Tensor& x) {
  const auto size = [&](int64_t from_end) {
    return x.dim() > from_end ? x.size(-1 - from_end) : 1;
  };
  const auto stride = [&](int64_t from_end) {
    return x.dim() > from_end ? x.stride(-1 - from_end) : 0;
  };
  return {x.data_ptr(), size(2), size(1), stride(2), stride(1)};
}

at::Tensor with_dense_rows(const at::Tensor& x) { return x.stride(-1) == 1 ? x : x.contiguous(); }

}  // namespace

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps,
                    bool weight_plus_one) {
  const at::Tensor source = with_dense_rows(x);
  at::Tensor out = at::empty(x.sizes(), x.options());
  NormPass pass;
  pass.type = number_type(x);
  pass.x = rows_of(source);
  pass.width = x.size(-1);
  pass.weight = weight.const_data_ptr();
  pass.out = out.data_ptr();
  pass.eps = static_cast<float>(eps);
  pass.weight_plus_one = weight_plus_one;
  if (x.is_cuda()) {
    cuda::run(pass, current_stream(x));
  } else {
    run_on_cpu(pass, pass.width);
  }
  return out;
}

at::Tensor layer_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                      double eps) {
  return at::layer_norm(x, {x.size(-1)}, weight, bias, eps);
}

namespace {

TurnPass turn_pass(const at::Tensor& x, const at::Tensor& to, const at::Tensor& cos,
                   const at::Tensor& sin, bool interleaved) {
  TurnPass pass;
  pass.type = number_type(x);
  pass.x = rows_of(x);
  pass.to = rows_of(to);
  pass.cos = cos.const_data_ptr<float>();
  pass.sin = sin.const_data_ptr<float>();
  pass.pairs = cos.size(1);
  pass.interleaved = interleaved;
  return pass;
}

// A tensor for x turned, with the dimensions that do not turn already copied; heads of a token lie
// side by side.
at::Tensor room_for(const at::Tensor& x, int64_t turns) {
  const at::Tensor room = at::empty({x.size(1), x.size(0), x.size(2)}, x.options()).transpose(0, 1);
  if (turns < x.size(2)) room.slice(2, turns).copy_(x.slice(2, turns));
  return room;
}

}  // namespace

void rotate(at::Tensor& q, at::Tensor& k, const at::Tensor& cos, const at::Tensor& sin,
            bool interleaved) {
  if (!q.is_cuda()) {
    q = q.clone();
    k = k.clone();
    rotate_(q, k, cos, sin, interleaved);
    return;
  }
  const int64_t turns = 2 * cos.size(1);
  const at::Tensor new_q = room_for(q, turns);
  const at::Tensor new_k = room_for(k, turns);
  cuda::run(turn_pass(q, new_q, cos, sin, interleaved), turn_pass(k, new_k, cos, sin, interleaved),
            current_stream(q));
  q = new_q;
  k = new_k;
}

void rotate_(const at::Tensor& q, const at::Tensor& k, const at::Tensor& cos, const at::Tensor& sin,
             bool interleaved) {
  const TurnPass first = turn_pass(q, q, cos, sin, interleaved);
  const TurnPass second = turn_pass(k, k, cos, sin, interleaved);
  if (q.is_cuda()) {
    cuda::run(first, second, current_stream(q));
  } else {
    // Threads are woken once for both.
    const int64_t queries = first.x.count();
    at::parallel_for(0, queries + second.x.count(), grain(q.size(-1)),
                     [&](int64_t begin, int64_t end) {
                       cpu::run(first, begin, std::min(end, queries));
                       cpu::run(second, std::max(begin, queries) - queries, end - queries);
                     });
  }
}

at::Tensor gate_(const at::Tensor& x, Activation activation) {
  GatePass pass;
  pass.type = number_type(x);
  pass.x = {x.data_ptr(), x.size(0), 1, x.stride(0), 0};
  pass.width = x.size(1) / 2;
  pass.activation = activation;
  if (x.is_cuda()) {
    cuda::run(pass, current_stream(x));
  } else {
    run_on_cpu(pass, pass.width);
  }
  return x.slice(1, 0, pass.width);
}

at::Tensor cut_gate_(const at::Tensor& x, double alpha, double limit) {
  const int64_t half = x.size(1) / 2;
  at::Tensor gate = x.slice(1, 0, half).clamp_max_(limit);
  const at::Tensor up = x.slice(1, half).clamp_(-limit, limit).add_(1);
  return gate.mul_(at::sigmoid(gate * alpha)).mul_(up);
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
