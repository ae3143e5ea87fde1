#include "ropewalk/model/rope.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string_view>
#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/checkpoint/config_file.h"

namespace ropewalk {
namespace {

constexpr std::array<std::pair<std::string_view, RopeType>, 7> kTypes{
    {{"default", RopeType::standard},
     {"linear", RopeType::linear},
     {"dynamic", RopeType::dynamic},
     {"llama3", RopeType::llama3},
     {"yarn", RopeType::yarn},
     {"longrope", RopeType::longrope},
     {"su", RopeType::longrope}}};

RopeType parse_type(const ConfigFile& parameters) {
  std::string name = "default";
  if (parameters.has("rope_type")) {
    name = parameters.text("rope_type");
  } else if (parameters.has("type")) {
    name = parameters.text("type");
  }
  for (const auto& [known, type] : kTypes) {
    if (known == name) return type;
  }
  throw InputError(
      "{}: RoPE type '{}' is unknown; supported are default, linear, dynamic, llama3, yarn and "
      "longrope",
      parameters.source(), name);
}

void read_longrope(const ConfigFile& parameters, RopeSettings& rope) {
  rope.original_context = parameters.size("original_max_position_embeddings", rope.max_positions);
  rope.factor = parameters.has("factor") ? parameters.positive("factor")
                                         : static_cast<double>(rope.max_positions) /
                                               static_cast<double>(rope.original_context);
  rope.attention_factor = parameters.optional_number("attention_factor");
  rope.short_factors = parameters.positives("short_factor");
  rope.long_factors = parameters.positives("long_factor");
  const auto pairs = static_cast<size_t>(rope.rotary_dim / 2);
  if (rope.short_factors.size() != pairs || rope.long_factors.size() != pairs) {
    throw InputError(
        "{}: RoPE keys 'short_factor' and 'long_factor' list {} and {}, expected {} each",
        parameters.source(), rope.short_factors.size(), rope.long_factors.size(), pairs);
  }
}

void read_scaling(const ConfigFile& parameters, RopeSettings& rope) {
  if (rope.type == RopeType::standard) return;
  if (rope.type == RopeType::longrope) return read_longrope(parameters, rope);
  // YaRN may leave the factor to the ratio of the two contexts.
  const bool implied = rope.type == RopeType::yarn && !parameters.has("factor");
  if (!implied) rope.factor = parameters.positive("factor");
  if (rope.type == RopeType::dynamic && rope.rotary_dim <= 2) {
    throw InputError("{}: dynamic RoPE needs more than 2 rotated dimensions", parameters.source());
  }
  if (rope.type != RopeType::llama3 && rope.type != RopeType::yarn) return;
  rope.original_context = parameters.size("original_max_position_embeddings", rope.max_positions);
  if (rope.type == RopeType::llama3) {
    rope.low_freq_factor = parameters.positive("low_freq_factor");
    rope.high_freq_factor = parameters.positive("high_freq_factor");
    if (rope.high_freq_factor <= rope.low_freq_factor) {
      throw InputError(
          "{}: RoPE key 'high_freq_factor': found {}, expected more than low_freq_factor {}",
          parameters.source(), rope.high_freq_factor, rope.low_freq_factor);
    }
    return;
  }
  if (implied) {
    rope.factor =
        static_cast<double>(rope.max_positions) / static_cast<double>(rope.original_context);
  }
  // transformers reads 0 as "not given" for these.
  const auto given = [&](const char* key) -> std::optional<double> {
    const bool absent = !parameters.has(key) || parameters.number(key) == 0;
    return absent ? std::nullopt : std::optional(parameters.positive(key));
  };
  if (rope.theta == 1) {
    throw InputError("{}: RoPE theta is 1, which YaRN cannot scale; expected another number",
                     parameters.source());
  }
  rope.beta_fast = given("beta_fast").value_or(32);
  rope.beta_slow = given("beta_slow").value_or(1);
  rope.mscale = given("mscale");
  rope.mscale_all_dim = given("mscale_all_dim");
  rope.attention_factor = parameters.optional_number("attention_factor");
}

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

std::string rope_type_name(RopeType type) {
  for (const auto& [name, known] : kTypes) {
    if (known == type) return std::string(name);
  }
  return "?";
}

RopeSettings read_rope(const ConfigFile& config, const RopeTraits& traits,
                       const std::string& layer_type) {
  ConfigFile parameters(Json::object(), config.source());
  bool nested = false;
  if (config.has("rope_parameters")) {
    parameters = config.object("rope_parameters");
    if (parameters.has(layer_type) && parameters.json()[layer_type].is_object()) {
      parameters = parameters.object(layer_type);
      nested = true;
    }
  } else if (config.has("rope_scaling")) {
    parameters = config.object("rope_scaling");
  }

  RopeSettings rope;
  rope.type = parse_type(parameters);
  rope.max_positions = traits.max_positions;
  rope.interleaved = traits.interleaved;
  if (parameters.has("rope_theta")) {
    rope.theta = parameters.positive("rope_theta");
  } else if (config.has(traits.theta_key)) {
    rope.theta = config.positive(traits.theta_key);
  } else if (config.has("rope_theta")) {
    rope.theta = config.positive("rope_theta");
  } else {
    throw InputError(
        "{}: no RoPE theta: write \"{}\" (for example 10000.0), or \"rope_parameters\": "
        "{{\"rope_theta\": …}}",
        config.source(), traits.theta_key);
  }

  double partial = traits.default_partial.value_or(1.0);
  if (parameters.has("partial_rotary_factor")) {
    partial = parameters.number("partial_rotary_factor");
  } else if (config.has(traits.partial_key)) {
    partial = config.number(traits.partial_key);
  }
  if (!traits.default_partial && partial != 1.0) {
    throw InputError("{}: partial_rotary_factor {} is not known in this architecture; expected 1",
                     config.source(), partial);
  }
  const double rotated = std::trunc(static_cast<double>(traits.d_head) * partial);
  if (rotated < 2 || rotated > static_cast<double>(traits.d_head) || std::fmod(rotated, 2) != 0) {
    throw InputError(
        "{}: RoPE rotates {} dimensions (head_dim {} times partial_rotary_factor {}); expected an "
        "even number between 2 and head_dim",
        config.source(), rotated, traits.d_head, partial);
  }
  rope.rotary_dim = static_cast<int64_t>(rotated);
  read_scaling(parameters, rope);
  // transformers looks for `truncate` beside the layer types, not inside them.
  if (rope.type == RopeType::yarn && !nested) rope.truncate = parameters.flag("truncate", true);
  return rope;
}

RopeTable make_rope_table(const RopeSettings& rope, int64_t tokens, const at::Device& device) {
  at::Tensor frequencies;  // [rotary_dim / 2]
  double attention_factor = 1;
  switch (rope.type) {
    case RopeType::standard:
      frequencies = 1.0 / powers(rope.theta, rope.rotary_dim);
      break;
    case RopeType::linear:
      frequencies = 1.0 / powers(rope.theta, rope.rotary_dim) / rope.factor;
      break;
    case RopeType::dynamic:
      frequencies = dynamic_frequencies(rope, tokens);
      break;
    case RopeType::llama3:
      frequencies = llama3_frequencies(rope);
      break;
    case RopeType::yarn:
      frequencies = yarn_frequencies(rope);
      attention_factor = yarn_attention_factor(rope);
      break;
    case RopeType::longrope:
      frequencies = longrope_frequencies(rope, tokens);
      attention_factor = longrope_attention_factor(rope);
      break;
  }
  const at::Tensor positions =
      at::arange(tokens, at::TensorOptions().dtype(at::kFloat)).unsqueeze(1);
  const at::Tensor angles = positions * frequencies.to(at::kFloat).unsqueeze(0);
  return {(angles.cos() * attention_factor).to(device),
          (angles.sin() * attention_factor).to(device)};
}

}  // namespace ropewalk
