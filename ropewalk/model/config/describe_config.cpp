#include "ropewalk/model/config/describe_config.h"

#include <cmath>

#include "ropewalk/model/config/config.h"

namespace ropewalk {
namespace {

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

const char* name_of(NormKind kind) {
  switch (kind) {
    case NormKind::rms:
      return "rms";
    case NormKind::rms_plus_one:
      return "rms_plus_one";
    case NormKind::layer:
      return "layer";
    case NormKind::layer_without_bias:
      return "layer without bias";
    case NormKind::bare_layer:
      break;
  }
  return "bare_layer";
}

const char* name_of(QkNorm norm) {
  switch (norm) {
    case QkNorm::none:
      return "none";
    case QkNorm::per_head:
      return "per_head";
    case QkNorm::whole_projection:
      break;
  }
  return "whole_projection";
}

const char* name_of(Activation activation) {
  switch (activation) {
    case Activation::silu:
      return "silu";
    case Activation::gelu:
      return "gelu";
    case Activation::gelu_tanh:
      return "gelu_tanh";
    case Activation::relu:
      return "relu";
    case Activation::relu_squared:
      return "relu_squared";
    case Activation::xielu:
      break;
  }
  return "xielu";
}

// Here and below, structured bindings name all members, so that a new member does not compile until
// it is described: an undescribed one could change numbers without a capture knowing.
Json describe_rope(const RopeSettings& rope) {
  const auto& [type, theta, rotary_dim, interleaved, max_positions, factor, original_context,
               low_freq_factor, high_freq_factor, beta_fast, beta_slow, truncate, attention_factor,
               mscale, mscale_all_dim, short_factors, long_factors, still_above] = rope;
  Json json{{"type", rope_type_name(type)},
            {"theta", theta},
            {"rotary_dim", rotary_dim},
            {"interleaved", interleaved}};
  if (type != RopeType::standard) json["factor"] = factor;
  if (type == RopeType::llama3 || type == RopeType::yarn || type == RopeType::longrope) {
    json["original_context"] = original_context;
  }
  if (type == RopeType::dynamic) json["max_position_embeddings"] = max_positions;
  if (type == RopeType::llama3) {
    json["low_freq_factor"] = low_freq_factor;
    json["high_freq_factor"] = high_freq_factor;
  }
  if (type == RopeType::yarn) {
    json["beta_fast"] = beta_fast;
    json["beta_slow"] = beta_slow;
    json["truncate"] = truncate;
    json["attention_factor"] = or_null(attention_factor);
    json["mscale"] = or_null(mscale);
    json["mscale_all_dim"] = or_null(mscale_all_dim);
  }
  if (type == RopeType::longrope) {
    json["attention_factor"] = or_null(attention_factor);
    json["short_factors"] = short_factors;
    json["long_factors"] = long_factors;
  }
  if (std::isfinite(still_above)) json["still_above"] = still_above;
  return json;
}

Json describe_scaling(const std::optional<ModelConfig::QueryScaling>& scaling) {
  if (!scaling) return {};
  const auto& [beta, original_context] = *scaling;
  return {{"beta", beta}, {"original_context", original_context}};
}

const char* name_of(ExpertShare share) {
  switch (share) {
    case ExpertShare::of_all:
      return "of_all";
    case ExpertShare::of_chosen:
      return "of_chosen";
    case ExpertShare::softmax_of_chosen:
      break;
  }
  return "softmax_of_chosen";
}

Json describe_mixture(const std::optional<Mixture>& mixture) {
  if (!mixture) return {};
  const auto& [n_experts, n_chosen, d_expert, share] = *mixture;
  return {{"n_experts", n_experts},
          {"n_chosen", n_chosen},
          {"d_expert", d_expert},
          {"share", name_of(share)}};
}

Json describe_gate(const std::optional<CutGate>& gate) {
  if (!gate) return {};
  const auto& [alpha, limit] = *gate;
  return {{"alpha", alpha}, {"limit", limit}};
}

void describe_layers(const std::vector<LayerConfig>& layers, Json& json) {
  std::vector<int64_t> nope;
  std::vector<int64_t> skipped;
  std::vector<int64_t> mixtures;
  Json rope_of_layer = Json::object();  // layers whose index is not 0
  Json windows = Json::object();
  Json scales = Json::object();
  for (size_t i = 0; i < layers.size(); ++i) {
    const auto& [self_attention, rope, rope_index, window, mixture, attention_scale] = layers[i];
    const auto index = static_cast<int64_t>(i);
    if (!self_attention) skipped.push_back(index);
    if (mixture) mixtures.push_back(index);
    if (self_attention && !rope) nope.push_back(index);
    if (self_attention && rope && rope_index != 0) rope_of_layer[std::to_string(i)] = rope_index;
    if (window) windows[std::to_string(i)] = *window;
    if (attention_scale) scales[std::to_string(i)] = *attention_scale;
  }
  json["nope_layers"] = nope;
  json["skipped_layers"] = skipped;
  json["mixture_layers"] = mixtures;
  json["rope_of_layer"] = rope_of_layer;
  json["sliding_windows"] = windows;
  json["attention_scale_of_layer"] = scales;
}

}  // namespace

Json describe_config(const ModelConfig& config) {
  const auto& [architecture, n_layers, n_q_heads, n_kv_heads, d_model, d_head, d_mlp,
               vocabulary_size, embedding_rows, max_positions, norm, norm_eps, qk_norm, activation,
               qkv_bias, out_bias, mlp_bias, gated, parallel_residual, attention_scale,
               embedding_scale, residual_scale, clip_qkv, score_cap, alibi, sinks, cut_gate,
               mixture, initializer_range, query_scaling, ropes, layers,
               head] = config;  // no number of a capture depends on the part after the last layer
  Json json{{"architecture", architecture},
            {"layers", n_layers},
            {"n_q_heads", n_q_heads},
            {"n_kv_heads", n_kv_heads},
            {"head_dim", d_head},
            {"d_model", d_model},
            {"d_mlp", d_mlp},
            {"vocabulary", vocabulary_size},
            {"embedding_rows", embedding_rows},
            {"max_position_embeddings", max_positions},
            {"norm", name_of(norm)},
            {"norm_eps", norm_eps},
            {"qk_norm", name_of(qk_norm)},
            {"activation", name_of(activation)},
            {"qkv_bias", qkv_bias},
            {"out_bias", out_bias},
            {"mlp_bias", mlp_bias},
            {"gated", gated},
            {"parallel_residual", parallel_residual},
            {"attention_scale", attention_scale},
            {"embedding_scale", embedding_scale},
            {"residual_scale", residual_scale},
            {"clip_qkv", or_null(clip_qkv)},
            {"score_cap", or_null(score_cap)},
            {"alibi", alibi},
            {"sinks", sinks},
            {"cut_gate", describe_gate(cut_gate)},
            {"mixture", describe_mixture(mixture)},
            {"initializer_range", initializer_range},
            {"query_scaling", describe_scaling(query_scaling)},
            {"rope", Json::array()}};
  for (const RopeSettings& rope : ropes) json["rope"].push_back(describe_rope(rope));
  describe_layers(layers, json);
  return json;
}

Json deciding_config(Json description, int64_t context, bool random_weights) {
  for (const char* key : {"max_position_embeddings", "vocabulary", "embedding_rows"}) {
    description.erase(key);
  }
  if (!random_weights) description.erase("initializer_range");
  if (const auto windows = description.find("sliding_windows");
      windows != description.end() && windows->is_object()) {
    for (auto window = windows->begin(); window != windows->end();) {
      const bool whole =
          window->is_number() && window->get<double>() >= static_cast<double>(context);
      window = whole ? windows->erase(window) : std::next(window);
    }
  }
  // Settings that a model does not use are left out, so that a setting that only newer families
  // have does not change the captures of the others.
  for (auto setting = description.begin(); setting != description.end();) {
    const bool unused = setting->is_null() || *setting == false || *setting == 0 ||
                        (setting->is_structured() && setting->empty());
    setting = unused ? description.erase(setting) : std::next(setting);
  }
  return description;
}

}  // namespace ropewalk
