#include "ropewalk/model/config/rope.h"

#include <array>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/json_reader.h"
#include "ropewalk/model/config/rope_frequencies.h"

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

RopeType parse_type(const JsonReader& parameters) {
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

void read_longrope(const JsonReader& parameters, RopeSettings& rope) {
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

void read_scaling(const JsonReader& parameters, RopeSettings& rope) {
  if (rope.type == RopeType::standard) return;
  if (rope.type == RopeType::longrope) return read_longrope(parameters, rope);
  // YaRN may derive the factor from the ratio of the two contexts.
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
  // transformers treats 0 as "not given" for these keys.
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

}  // namespace

std::string rope_type_name(RopeType type) {
  for (const auto& [name, known] : kTypes) {
    if (known == type) return std::string(name);
  }
  return "?";
}

RopeSettings read_rope(const JsonReader& config, const RopeTraits& traits,
                       const std::string& layer_type) {
  JsonReader parameters(Json::object(), config.source());
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
  if (rope.theta > std::numeric_limits<float>::max()) {
    throw InputError("{}: RoPE's theta is {}, expected a number that float32 holds, up to {:.1g}",
                     config.source(), rope.theta, std::numeric_limits<float>::max());
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
  // transformers expects `truncate` next to the layer types, not inside them.
  if (rope.type == RopeType::yarn && !nested) rope.truncate = parameters.flag("truncate", true);
  return rope;
}

RopeTable make_rope_table(const RopeSettings& rope, int64_t tokens, const at::Device& device) {
  const auto [frequencies, factor] = rope_frequencies(rope, tokens);
  const at::Tensor positions =
      at::arange(tokens, at::TensorOptions().dtype(at::kFloat)).unsqueeze(1);
  const at::Tensor angles = positions * frequencies.unsqueeze(0);
  return {(angles.cos() * factor).to(device), (angles.sin() * factor).to(device)};
}

}  // namespace ropewalk
