#include "ropewalk/model/config/rope_frequencies.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "ropewalk/model/config/rope.h"

namespace ropewalk {
namespace {

// theta ** (2i / rotary_dim)
at::Tensor powers(double theta, int64_t dim) {
  const at::Tensor exponents =
      at::arange(0, dim, 2, at::TensorOptions().dtype(at::kLong)).to(at::kFloat) /
      static_cast<double>(dim);
  return at::pow(theta, exponents);
}

at::Tensor llama3_frequencies(const RopeSettings& rope) {
  const at::Tensor plain = 1.0 / powers(rope.theta, rope.rotary_dim);
  const auto context = static_cast<double>(rope.original_context);
  const double low_wavelength = context / rope.low_freq_factor;
  const double high_wavelength = context / rope.high_freq_factor;
  const at::Tensor wavelength = 2 * std::numbers::pi / plain;
  const at::Tensor scaled = at::where(wavelength > low_wavelength, plain / rope.factor, plain);
  const at::Tensor smooth = (context / wavelength - rope.low_freq_factor) /
                            (rope.high_freq_factor - rope.low_freq_factor);
  const at::Tensor blended = (1 - smooth) * scaled / rope.factor + smooth * scaled;
  const at::Tensor medium = (wavelength < high_wavelength)
                                .logical_not()
                                .logical_and((wavelength > low_wavelength).logical_not());
  return at::where(medium, blended, scaled);
}

at::Tensor yarn_frequencies(const RopeSettings& rope) {
  const auto dim = static_cast<double>(rope.rotary_dim);
  const auto correction = [&](double rotations) {
    return dim *
           std::log(static_cast<double>(rope.original_context) /
                    (rotations * 2 * std::numbers::pi)) /
           (2 * std::log(rope.theta));
  };
  double low = correction(rope.beta_fast);
  double high = correction(rope.beta_slow);
  if (rope.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, dim - 1);
  if (low == high) high += 0.001;
  const at::Tensor ramp =
      ((at::arange(rope.rotary_dim / 2, at::TensorOptions().dtype(at::kFloat)) - low) /
       (high - low))
          .clamp(0, 1);
  const at::Tensor extrapolated = 1 - ramp;
  const at::Tensor wavelengths = powers(rope.theta, rope.rotary_dim);
  return (1.0 / (rope.factor * wavelengths)) * (1 - extrapolated) +
         (1.0 / wavelengths) * extrapolated;
}

double yarn_attention_factor(const RopeSettings& rope) {
  if (rope.attention_factor) return *rope.attention_factor;
  const auto magnitude = [&](double m) {
    return rope.factor <= 1 ? 1.0 : 0.1 * m * std::log(rope.factor) + 1.0;
  };
  if (rope.mscale && rope.mscale_all_dim)
    return magnitude(*rope.mscale) / magnitude(*rope.mscale_all_dim);
  return magnitude(1);
}

at::Tensor longrope_frequencies(const RopeSettings& rope, int64_t tokens) {
  const bool long_text = tokens > rope.original_context;
  const at::Tensor factors =
      at::tensor(long_text ? rope.long_factors : rope.short_factors, at::kDouble).to(at::kFloat);
  return 1.0 / (factors * powers(rope.theta, rope.rotary_dim));
}

double longrope_attention_factor(const RopeSettings& rope) {
  if (rope.attention_factor) return *rope.attention_factor;
  if (rope.factor <= 1) return 1;
  return std::sqrt(1 +
                   std::log(rope.factor) / std::log(static_cast<double>(rope.original_context)));
}

at::Tensor dynamic_frequencies(const RopeSettings& rope, int64_t tokens) {
  if (tokens <= rope.max_positions) return 1.0 / powers(rope.theta, rope.rotary_dim);
  // The length enters transformers' formula as a tensor, so the new theta is rounded to float32 at
  // each step.
  const auto dim = static_cast<double>(rope.rotary_dim);
  const at::Tensor length = at::full({}, tokens, at::TensorOptions().dtype(at::kLong));
  const at::Tensor theta =
      rope.theta *
      ((rope.factor * length / static_cast<double>(rope.max_positions)) - (rope.factor - 1))
          .pow(dim / (dim - 2));
  const at::Tensor exponents =
      at::arange(0, rope.rotary_dim, 2, at::TensorOptions().dtype(at::kLong)).to(at::kFloat) / dim;
  return 1.0 / at::pow(theta, exponents);
}

}  // namespace

RopeFrequencies rope_frequencies(const RopeSettings& rope, int64_t tokens) {
  RopeFrequencies found;
  switch (rope.type) {
    case RopeType::standard:
      found.angles = 1.0 / powers(rope.theta, rope.rotary_dim);
      break;
    case RopeType::linear:
      found.angles = 1.0 / powers(rope.theta, rope.rotary_dim) / rope.factor;
      break;
    case RopeType::dynamic:
      found.angles = dynamic_frequencies(rope, tokens);
      break;
    case RopeType::llama3:
      found.angles = llama3_frequencies(rope);
      break;
    case RopeType::yarn:
      found = {yarn_frequencies(rope), yarn_attention_factor(rope)};
      break;
    case RopeType::longrope:
      found = {longrope_frequencies(rope, tokens), longrope_attention_factor(rope)};
      break;
  }
  found.angles = found.angles.to(at::kFloat);
  if (std::isfinite(rope.still_above)) {
    const at::Tensor wavelengths = 2 * std::numbers::pi / found.angles.to(at::kDouble);
    found.angles.masked_fill_(wavelengths > rope.still_above, 0);
  }
  return found;
}

}  // namespace ropewalk
