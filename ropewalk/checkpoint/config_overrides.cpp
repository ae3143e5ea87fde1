#include "ropewalk/checkpoint/config_overrides.h"

namespace ropewalk {
namespace {

// The object where transformers 5 keeps RoPE parameters, or null.
Json* find_rope_parameters(Json& config) {
  const auto found = config.find("rope_parameters");
  if (found == config.end() || !found->is_object()) return nullptr;
  const auto full = found->find("full_attention");
  return full != found->end() && full->is_object() ? &*full : &*found;
}

void override_scaling(Json& config, const Json& scaling) {
  config["rope_scaling"] = scaling;
  Json* parameters = find_rope_parameters(config);
  if (parameters == nullptr) return;
  Json changed = scaling.is_object() ? scaling : Json{{"rope_type", "default"}};
  for (const char* key : {"rope_theta", "partial_rotary_factor"}) {
    if (parameters->contains(key) && !changed.contains(key)) changed[key] = (*parameters)[key];
  }
  *parameters = changed;
}

void override_theta(Json& config, const Json& theta) {
  config["rope_theta"] = theta;
  if (config.contains("rotary_emb_base")) config["rotary_emb_base"] = theta;
  if (Json* parameters = find_rope_parameters(config)) (*parameters)["rope_theta"] = theta;
}

}  // namespace

JsonReader override_config(const JsonReader& config, const Json& overrides) {
  if (overrides.empty()) return config;
  Json changed = config.json();
  Json& text = changed.contains("text_config") && changed["text_config"].is_object()
                   ? changed["text_config"]
                   : changed;
  if (overrides.contains("rope_scaling")) override_scaling(text, overrides["rope_scaling"]);
  if (overrides.contains("rope_theta")) override_theta(text, overrides["rope_theta"]);
  for (const char* key : {"max_position_embeddings", "sliding_window"}) {
    if (overrides.contains(key)) text[key] = overrides[key];
  }
  return {changed, config.source()};
}

}  // namespace ropewalk
