#include "ropewalk/model/random_weights.h"

#include <ATen/CPUGeneratorImpl.h>
#include <fmt/format.h>

#include <cmath>

#include "ropewalk/base/files/hash.h"

namespace ropewalk {
namespace {

at::Tensor normal(const std::vector<int64_t>& shape, double range, const std::string& key) {
  const auto seed = static_cast<uint64_t>(blake2b_int64(key));
  at::Generator generator = at::detail::createCPUGenerator(seed);
  return at::empty(shape, at::kFloat).normal_(0, range, generator);
}

}  // namespace

RandomWeights::RandomWeights(int64_t seed, const ModelConfig& config)
    : seed_(seed),
      range_(config.initializer_range),
      d_model_(config.d_model),
      norms_add_one_(config.norm == NormKind::rms_plus_one) {}

at::Tensor RandomWeights::tensor(TensorRole role, const std::string& name,
                                 const std::vector<int64_t>& shape) const {
  // xIELU's slopes start at 0.8 on both sides, as in Apertus; stored before softplus, the negative
  // one minus beta.
  constexpr double kSlope = 0.8;
  constexpr double kBeta = 0.5;
  switch (role) {
    case TensorRole::alpha_p:
      return at::full(shape, std::log(std::expm1(kSlope)), at::kFloat);
    case TensorRole::alpha_n:
      return at::full(shape, std::log(std::expm1(kSlope - kBeta)), at::kFloat);
    case TensorRole::beta:
      return at::full(shape, kBeta, at::kFloat);
    case TensorRole::eps:
      return at::full(shape, -1e-6, at::kFloat);
    case TensorRole::bias:
      return at::zeros(shape, at::kFloat);
    case TensorRole::norm:
      return norms_add_one_ ? at::zeros(shape, at::kFloat) : at::ones(shape, at::kFloat);
    case TensorRole::projection:
      break;
  }
  return normal(shape, range_, fmt::format("{} {}", seed_, name));
}

at::Tensor RandomWeights::embedding(std::span<const int32_t> tokens) const {
  at::Tensor rows = at::empty({static_cast<int64_t>(tokens.size()), d_model_}, at::kFloat);
  for (size_t i = 0; i < tokens.size(); ++i) {
    rows.select(0, static_cast<int64_t>(i))
        .copy_(normal({d_model_}, range_, fmt::format("{} embedding {}", seed_, tokens[i])));
  }
  return rows;
}

at::Tensor RandomWeights::positions(int64_t tokens) const {
  at::Tensor rows = at::empty({tokens, d_model_}, at::kFloat);
  for (int64_t i = 0; i < tokens; ++i) {
    rows.select(0, i).copy_(normal({d_model_}, range_, fmt::format("{} position {}", seed_, i)));
  }
  return rows;
}

}  // namespace ropewalk
