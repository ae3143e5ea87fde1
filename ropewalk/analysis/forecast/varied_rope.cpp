#include "ropewalk/analysis/forecast/varied_rope.h"

#include <algorithm>
#include <limits>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/json_reader.h"

namespace ropewalk {
namespace {

// The settings without any scaling.
RopeSettings unscaled(const RopeSettings& own, RopeType type) {
  RopeSettings rope;
  rope.type = type;
  rope.theta = own.theta;
  rope.rotary_dim = own.rotary_dim;
  rope.interleaved = own.interleaved;
  rope.max_positions = own.max_positions;
  return rope;
}

RopeSettings with_theta(const RopeSettings& own, double theta, const RopeSpec& spec) {
  RopeSettings rope = own;
  rope.theta = theta;
  if (theta > std::numeric_limits<float>::max()) {
    throw UsageError(Field{"rope"},
                     " '{}': makes a theta of {:g}, expected a number that float32 holds, up to "
                     "{:.1g}",
                     spec.text, theta, std::numeric_limits<float>::max());
  }
  if (rope.type == RopeType::yarn && theta == 1) {
    throw UsageError(
        Field{"rope"},
        " '{}': makes a theta of 1, which the model's YaRN cannot scale; expected another",
        spec.text);
  }
  return rope;
}

// Factors per pair, from a file of the keys of config.json's rope_scaling, or from a config.json.
RopeSettings longrope(const RopeSettings& own, const RopeSpec& spec, const RopeLengths& lengths) {
  const JsonReader whole{std::filesystem::path(spec.file)};
  JsonReader file = whole;
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    if (whole.has(key)) file = whole.object(key);
  }
  constexpr const char* kOriginal = "original_max_position_embeddings";
  RopeSettings rope = unscaled(own, RopeType::longrope);
  rope.original_context = file.size(kOriginal, whole.size(kOriginal, lengths.trained));
  const int64_t longest = whole.size("max_position_embeddings", lengths.context);
  rope.factor = file.has("factor")
                    ? file.positive("factor")
                    : static_cast<double>(longest) / static_cast<double>(rope.original_context);
  rope.attention_factor = file.optional_number("attention_factor");
  rope.long_factors = file.positives("long_factor");
  rope.short_factors =
      file.has("short_factor") ? file.positives("short_factor") : rope.long_factors;
  const auto pairs = static_cast<size_t>(rope.rotary_dim / 2);
  if (rope.short_factors.size() != pairs || rope.long_factors.size() != pairs) {
    throw InputError(
        "{}: keys 'short_factor' and 'long_factor' list {} and {} numbers, but heads of this model "
        "have {} rotary pairs; expected as many",
        spec.file, rope.short_factors.size(), rope.long_factors.size(), pairs);
  }
  return rope;
}

RopeSettings scaled(const RopeSettings& own, const RopeSpec& spec, const RopeLengths& lengths) {
  using Kind = RopeSpec::Kind;
  if (spec.kind == Kind::longrope) return longrope(own, spec, lengths);
  RopeSettings rope = unscaled(own, spec.kind == Kind::linear ? RopeType::linear
                                    : spec.kind == Kind::yarn ? RopeType::yarn
                                                              : RopeType::llama3);
  rope.factor = spec.number;
  if (spec.kind == Kind::linear) return rope;
  rope.original_context = lengths.trained;
  if (spec.kind == Kind::llama3) {
    rope.low_freq_factor = 1;  // as in Llama 3.1
    rope.high_freq_factor = 4;
  } else if (rope.theta == 1) {
    throw UsageError(Field{"rope"}, " '{}': the model's theta is 1, which YaRN cannot scale",
                     spec.text);
  }
  return rope;
}

}  // namespace

std::optional<RopeSettings> vary_rope(const RopeSettings& own, const RopeSpec& spec,
                                      const RopeLengths& lengths) {
  using Kind = RopeSpec::Kind;
  if (spec.kind == Kind::none) return own;
  if (spec.kind == Kind::nope) return std::nullopt;
  if (spec.kind == Kind::theta) return with_theta(own, spec.number, spec);
  if (spec.kind == Kind::theta_times) return with_theta(own, own.theta * spec.number, spec);
  if (spec.kind != Kind::still) return scaled(own, spec, lengths);
  RopeSettings rope = own;
  rope.still_above = std::min(own.still_above, spec.number);
  return rope;
}

std::set<int64_t> varied_ropes(const ModelDescription& config) {
  std::set<int64_t> full, any;
  if (!config.rope || config.rope->ropes.empty()) return any;
  const auto& skipped = config.skipped_layers;
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    if (config.nope_layers.contains(layer)) continue;
    if (std::find(skipped.begin(), skipped.end(), layer) != skipped.end()) continue;
    const auto own = config.rope->rope_of_layer.find(layer);
    const int64_t index = own == config.rope->rope_of_layer.end() ? 0 : own->second;
    any.insert(index);
    if (!config.sliding_windows.contains(layer)) full.insert(index);
  }
  return full.empty() ? any : full;
}

TrainedContext trained_context(std::optional<int64_t> stated, const ModelDescription& config) {
  if (stated) return {*stated, "--trained"};
  const std::set<int64_t> ropes = varied_ropes(config);
  const int64_t original =
      ropes.empty() ? 0 : config.rope->ropes[static_cast<size_t>(*ropes.begin())].original_context;
  if (original > 0) return {original, "original_max_position_embeddings of its config"};
  const auto longest = config.json().find("max_position_embeddings");
  if (longest != config.json().end() && longest->is_number_integer() && *longest > 0) {
    return {longest->get<int64_t>(), "max_position_embeddings of its config"};
  }
  throw UsageError(
      "--trained: is not given, and the capture does not state max_position_embeddings; give the "
      "context in tokens that the model was trained at");
}

}  // namespace ropewalk
