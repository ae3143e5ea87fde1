#include "ropewalk/model/architecture.h"

#include <gtest/gtest.h>

#include "ropewalk/base/error.h"

namespace ropewalk {
namespace {

// A config of eight layers that every family can read.
Json base_config(const std::string& model_type) {
  return {{"model_type", model_type},
          {"vocab_size", 32},
          {"hidden_size", 64},
          {"intermediate_size", 96},
          {"num_hidden_layers", 8},
          {"num_attention_heads", 8},
          {"num_key_value_heads", 2},
          {"head_dim", 8},
          {"max_position_embeddings", 4096},
          {"num_experts", 6},
          {"num_experts_per_tok", 2},
          {"moe_intermediate_size", 12},
          {"rope_parameters", {{"rope_theta", 1e4}, {"rope_type", "default"}}}};
}

ModelConfig read(const Json& json) {
  return read_text_model(JsonReader(json, "config.json")).config;
}

std::string complaint(const Json& json) {
  try {
    read(json);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

// The layers for which a predicate is true.
std::vector<size_t> layers_where(const ModelConfig& config, bool (*holds)(const LayerConfig&)) {
  std::vector<size_t> found;
  for (size_t i = 0; i < config.layers.size(); ++i) {
    if (holds(config.layers[i])) found.push_back(i);
  }
  return found;
}

std::vector<size_t> nope(const ModelConfig& config) {
  return layers_where(config, [](const LayerConfig& layer) { return !layer.rope; });
}

std::vector<size_t> sliding(const ModelConfig& config) {
  return layers_where(config, [](const LayerConfig& layer) { return layer.window.has_value(); });
}

using Layers = std::vector<size_t>;
const Layers kEvery{0, 1, 2, 3, 4, 5, 6, 7};

TEST(Architecture, EveryFamilyReadsItsConfig) {
  const auto names = supported_architectures();
  ASSERT_FALSE(names.empty());
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  for (const std::string& name : names) {
    const ModelConfig config = read(base_config(name));
    EXPECT_EQ(config.architecture, name);
    EXPECT_EQ(config.layers.size(), 8U) << name;
    EXPECT_EQ(config.d_head, 8) << name;
    EXPECT_GT(config.attention_scale, 0) << name;
    if (config.ropes.empty()) {
      EXPECT_EQ(nope(config), kEvery) << name;
      continue;
    }
    EXPECT_EQ(config.ropes[0].theta, 1e4) << name;
    for (const LayerConfig& layer : config.layers) {
      EXPECT_LT(static_cast<size_t>(layer.rope_index), config.ropes.size()) << name;
    }
  }
}

TEST(Architecture, LayersWithAMixture) {
  const auto mixtures = [](const Json& changes) {
    Json json = base_config("qwen3_moe");
    json.update(changes);
    std::string found;
    for (const LayerConfig& layer : read(json).layers) found += layer.mixture ? 'm' : '-';
    return found;
  };
  EXPECT_EQ(mixtures(Json::object()), "mmmmmmmm");
  EXPECT_EQ(mixtures({{"decoder_sparse_step", 3}}), "--m--m--");
  EXPECT_EQ(mixtures({{"decoder_sparse_step", 2}, {"mlp_only_layers", {3, 0, 99}}}), "-m---m-m");
  EXPECT_EQ(read(base_config("qwen3_moe")).mixture->d_expert, 12);
  EXPECT_EQ(read(base_config("mixtral")).mixture->d_expert, 96);
}

TEST(Architecture, FamiliesWithoutRope) {
  const ModelConfig gpt2 = read({{"model_type", "gpt2"},
                                 {"vocab_size", 32},
                                 {"n_embd", 64},
                                 {"n_layer", 8},
                                 {"n_head", 8},
                                 {"n_positions", 100},
                                 {"n_inner", nullptr}});
  EXPECT_EQ(gpt2.d_mlp, 256);
  EXPECT_EQ(gpt2.max_positions, 100);
  EXPECT_FALSE(gpt2.gated);
  EXPECT_EQ(nope(gpt2), kEvery);
  Json json = base_config("gpt2");
  json["scale_attn_by_inverse_layer_idx"] = true;
  EXPECT_EQ(read(json).layers[0].attention_scale, read(json).attention_scale);
  EXPECT_EQ(read(json).layers[4].attention_scale, read(json).attention_scale / 5);
  json["add_cross_attention"] = true;
  EXPECT_EQ(complaint(json), "config.json: add_cross_attention is not supported; expected false");
  const ModelConfig bloom = read({{"model_type", "bloom"},
                                  {"vocab_size", 32},
                                  {"hidden_size", 64},
                                  {"n_layer", 8},
                                  {"n_head", 8}});
  EXPECT_EQ(bloom.max_positions, 2048);
  EXPECT_TRUE(bloom.alibi);
  json = base_config("bloom");
  json["apply_residual_connection_post_layernorm"] = true;
  EXPECT_NE(complaint(json), "");
}

TEST(Architecture, WhatIsDoneToScoresAndResiduals) {
  Json json = base_config("gemma2");
  EXPECT_EQ(read(json).score_cap, 50);
  EXPECT_EQ(sliding(read(json)), (Layers{0, 2, 4, 6}));
  json["attn_logit_softcapping"] = nullptr;
  EXPECT_EQ(read(json).score_cap, std::nullopt);
  json["attn_logit_softcapping"] = 0;
  EXPECT_NE(complaint(json).find("expected a number above 0"), std::string::npos);
  json = base_config("olmo");
  EXPECT_EQ(read(json).clip_qkv, std::nullopt);
  json["clip_qkv"] = 8.0;
  EXPECT_EQ(read(json).clip_qkv, 8);
  json = base_config("granite");
  json["residual_multiplier"] = 0.22;
  EXPECT_EQ(read(json).residual_scale, 0.22);
}

// The key names under which Phi-3 was published over time.
TEST(Architecture, NamesOfLongRope) {
  for (const char* type : {"longrope", "su", "yarn"}) {
    Json json = base_config("phi3");
    json.erase("rope_parameters");
    json["rope_theta"] = 1e4;
    json["original_max_position_embeddings"] = 64;
    json["rope_scaling"] = {{"type", type},
                            {"short_factor", std::vector<double>(4, 1.5)},
                            {"long_factor", std::vector<double>(4, 2.5)}};
    const RopeSettings rope = read(json).ropes.at(0);
    EXPECT_EQ(rope.type, RopeType::longrope) << type;
    EXPECT_EQ(rope.original_context, 64) << type;
    EXPECT_EQ(rope.long_factors, std::vector<double>(4, 2.5)) << type;
  }
}

TEST(Architecture, TextPartOfALargerModel) {
  Json outer{{"model_type", "gemma3"}, {"text_config", base_config("gemma3_text")}};
  EXPECT_EQ(read(outer).architecture, "gemma3_text");
}

TEST(Architecture, NamesTheUnknown) {
  EXPECT_NE(complaint(base_config("quillama"))
                .find("model_type 'quillama' is not supported; supported are apertus, "),
            std::string::npos);
  EXPECT_NE(complaint({{"hidden_size", 3}}).find("model_type ''"), std::string::npos);
}

TEST(Architecture, Smollm3) {
  Json json = base_config("smollm3");
  EXPECT_EQ(nope(read(json)), (Layers{3, 7}));
  json["no_rope_layer_interval"] = 3;
  EXPECT_EQ(nope(read(json)), (Layers{2, 5}));
  json["no_rope_layers"] = {1, 0, 1, 1, 1, 1, 0, 1};  // 0: no RoPE
  EXPECT_EQ(nope(read(json)), (Layers{1, 6}));
  json["use_sliding_window"] = true;
  json["sliding_window"] = 128;
  EXPECT_EQ(sliding(read(json)), (Layers{1, 6}));
  json["layer_types"] = std::vector<std::string>(8, "full_attention");
  json["layer_types"][4] = "sliding_attention";
  EXPECT_EQ(sliding(read(json)), Layers{4});
  json["layer_types"] = {"full_attention"};
  EXPECT_NE(complaint(json).find("'layer_types' lists 1 layers, expected 8"), std::string::npos);
}

TEST(Architecture, Mistral) {
  Json json = base_config("mistral");
  EXPECT_EQ(read(json).layers[0].window, 4096) << "the family's default";
  json["sliding_window"] = nullptr;
  EXPECT_EQ(sliding(read(json)), Layers{});
  json["sliding_window"] = 77;
  EXPECT_EQ(sliding(read(json)), kEvery);
}

TEST(Architecture, Qwen2) {
  Json json = base_config("qwen2");
  json["sliding_window"] = 128;
  EXPECT_EQ(sliding(read(json)), Layers{}) << "not used unless use_sliding_window";
  json["use_sliding_window"] = true;
  json["max_window_layers"] = 6;
  EXPECT_EQ(sliding(read(json)), (Layers{6, 7}));
  json["max_window_layers"] = 0;
  EXPECT_EQ(sliding(read(json)), kEvery);
  EXPECT_TRUE(read(json).qkv_bias);
}

TEST(Architecture, Gemma3) {
  Json json = base_config("gemma3_text");
  json["rope_parameters"] = {
      {"full_attention", {{"rope_theta", 1e6}, {"rope_type", "default"}}},
      {"sliding_attention", {{"rope_theta", 1e4}, {"rope_type", "default"}}}};
  json["query_pre_attn_scalar"] = 16;
  const ModelConfig config = read(json);
  EXPECT_EQ(sliding(config), (Layers{0, 1, 2, 3, 4, 6, 7}));
  EXPECT_EQ(config.ropes[static_cast<size_t>(config.layers[5].rope_index)].theta, 1e6);
  EXPECT_EQ(config.ropes[static_cast<size_t>(config.layers[0].rope_index)].theta, 1e4);
  EXPECT_EQ(config.attention_scale, 0.25);
  EXPECT_EQ(config.embedding_scale, 8);
  json["query_pre_attn_scalar"] = 0;
  EXPECT_NE(complaint(json).find("query_pre_attn_scalar"), std::string::npos);
}

TEST(Architecture, Mllama) {
  Json json = base_config("mllama_text_model");
  json["cross_attention_layers"] = {2, 5};
  const ModelConfig config = read(json);
  EXPECT_EQ(layers_where(config, [](const LayerConfig& layer) { return !layer.self_attention; }),
            (Layers{2, 5}));
  EXPECT_EQ(config.embedding_rows, config.vocabulary_size + 8);
  json["cross_attention_layers"] = {8};
  EXPECT_NE(complaint(json).find("cross_attention_layers"), std::string::npos);
}

TEST(Architecture, Ministral3ScalesQueries) {
  Json json = base_config("ministral3");
  EXPECT_FALSE(read(json).query_scaling);
  json["rope_parameters"]["llama_4_scaling_beta"] = 0.1;
  json["rope_parameters"]["original_max_position_embeddings"] = 512;
  const auto scaling = read(json).query_scaling;
  ASSERT_TRUE(scaling);
  EXPECT_EQ(scaling->beta, 0.1);
  EXPECT_EQ(scaling->original_context, 512);
}

TEST(Architecture, PartialAndInterleavedRotary) {
  EXPECT_EQ(read(base_config("glm4")).ropes[0].rotary_dim, 4);
  EXPECT_TRUE(read(base_config("glm4")).ropes[0].interleaved);
  EXPECT_EQ(read(base_config("gpt_neox")).ropes[0].rotary_dim, 2);
  EXPECT_EQ(read(base_config("gpt_neox")).n_kv_heads, 8) << "Pythia has no grouped queries";
}

// Much too large, and each would overflow a product somewhere.
TEST(Architecture, SizesBeyondReason) {
  for (const char* key : {"num_hidden_layers", "num_attention_heads", "hidden_size", "head_dim",
                          "intermediate_size", "vocab_size", "max_position_embeddings"}) {
    Json json = base_config("llama");
    json[key] = int64_t{1} << 32;
    EXPECT_NE(
        complaint(json).find(fmt::format("key '{}': found 4294967296, expected at most ", key)),
        std::string::npos)
        << key << ": " << complaint(json);
  }
}

TEST(Architecture, SizesThatDoNotFitTogether) {
  Json json = base_config("llama");
  json["num_key_value_heads"] = 3;
  EXPECT_NE(complaint(json).find("'num_key_value_heads': found 3, expected a divisor"),
            std::string::npos);
  json = base_config("llama");
  json.erase("head_dim");
  json["num_attention_heads"] = 6;
  EXPECT_NE(complaint(json).find("write head_dim"), std::string::npos);
  json = base_config("llama");
  json["rms_norm_eps"] = -1;
  EXPECT_NE(complaint(json).find("'rms_norm_eps': found -1"), std::string::npos);
  json = base_config("llama");
  json["hidden_act"] = "xielu";
  EXPECT_NE(complaint(json).find("'hidden_act'"), std::string::npos);
}

}  // namespace
}  // namespace ropewalk
