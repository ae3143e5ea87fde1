#include "ropewalk/model/config/described_rope.h"

#include <fmt/format.h>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/json_reader.h"

namespace ropewalk {
namespace {

RopeType read_type(const JsonReader& described) {
  const std::string name = described.text("type");
  for (const RopeType type : {RopeType::standard, RopeType::linear, RopeType::dynamic,
                              RopeType::llama3, RopeType::yarn, RopeType::longrope}) {
    if (rope_type_name(type) == name) return type;
  }
  throw InputError("{}: key 'config.rope' has the type '{}', which this program does not know",
                   described.source(), name);
}

RopeSettings read_settings(const JsonReader& described) {
  RopeSettings rope;
  rope.type = read_type(described);
  rope.theta = described.positive("theta");
  rope.rotary_dim = described.size("rotary_dim");
  rope.interleaved = described.flag("interleaved", false);
  if (rope.rotary_dim % 2 != 0) described.refuse("rotary_dim", "an even number");
  const bool scaled = rope.type != RopeType::standard;
  if (scaled) rope.factor = described.positive("factor");
  if (rope.type == RopeType::dynamic) {
    rope.max_positions = described.size("max_position_embeddings");
  } else if (scaled && rope.type != RopeType::linear) {
    rope.original_context = described.size("original_context");
  }
  if (rope.type == RopeType::llama3) {
    rope.low_freq_factor = described.positive("low_freq_factor");
    rope.high_freq_factor = described.positive("high_freq_factor");
  }
  if (rope.type == RopeType::yarn || rope.type == RopeType::longrope) {
    rope.attention_factor = described.optional_number("attention_factor");
  }
  if (rope.type == RopeType::yarn) {
    rope.beta_fast = described.positive("beta_fast");
    rope.beta_slow = described.positive("beta_slow");
    rope.truncate = described.flag("truncate", true);
    rope.mscale = described.optional_number("mscale");
    rope.mscale_all_dim = described.optional_number("mscale_all_dim");
  }
  if (rope.type == RopeType::longrope) {
    rope.short_factors = described.positives("short_factors");
    rope.long_factors = described.positives("long_factors");
    const auto pairs = static_cast<size_t>(rope.rotary_dim / 2);
    if (rope.short_factors.size() != pairs || rope.long_factors.size() != pairs) {
      throw InputError(
          "{}: key 'config.rope' lists {} short_factors and {} long_factors, expected {} each",
          described.source(), rope.short_factors.size(), rope.long_factors.size(), pairs);
    }
  }
  if (described.has("still_above")) rope.still_above = described.positive("still_above");
  return rope;
}

}  // namespace

void DescribedRope::require_fit(int64_t head_dim, const std::string& source) const {
  for (const RopeSettings& rope : ropes) {
    if (rope.rotary_dim <= head_dim) continue;
    throw InputError("{}: key 'config.rope' has a rotary_dim of {}, expected at most {}", source,
                     rope.rotary_dim, head_dim);
  }
}

const RopeSettings* DescribedRope::of_layer(int64_t layer) const {
  if (ropes.empty()) return nullptr;
  const auto own = rope_of_layer.find(layer);
  return &ropes[own == rope_of_layer.end() ? 0 : static_cast<size_t>(own->second)];
}

std::optional<DescribedRope> read_described_rope(const JsonReader& config) {
  if (!config.has("rope")) return std::nullopt;
  DescribedRope found;
  for (const JsonReader& described : config.objects("rope")) {
    found.ropes.push_back(read_settings(described));
  }
  if (config.has("rope_of_layer")) {
    const JsonReader indexes = config.object("rope_of_layer");
    for (const auto& [layer, index] : indexes.json().items()) {
      const bool known = index.is_number_integer() && index >= 0 && index < found.ropes.size();
      if (!known) indexes.refuse(layer, "an index in 'rope'");
      found.rope_of_layer[std::atoll(layer.c_str())] = index.get<int64_t>();
    }
  }
  if (config.has("query_scaling")) {
    const JsonReader scaling = config.object("query_scaling");
    found.query_scaling = {scaling.number("beta"), scaling.size("original_context")};
  }
  return found;
}

}  // namespace ropewalk
