// BLOOM: no RoPE but ALiBi, a norm on the embeddings, and q, k and v in one matrix, head by head.
#include "ropewalk/base/error.h"
#include "ropewalk/model/architectures/common.h"

namespace ropewalk::bloom_family {

ModelConfig configure(const JsonReader& file) {
  const JsonReader config = rename_keys(file, {{"n_embed", "hidden_size"},
                                               {"n_layer", "num_hidden_layers"},
                                               {"n_head", "num_attention_heads"},
                                               {"seq_length", "max_position_embeddings"}});
  CommonDefaults defaults;
  defaults.norm_eps = 1e-5;
  defaults.norm_eps_key = "layer_norm_epsilon";
  defaults.activation = "gelu_tanh";
  defaults.d_mlp_times = 4;
  defaults.max_positions = 2048;  // BLOOM's training length; ALiBi itself has no limit
  ModelConfig model = read_common(config, defaults);
  if (config.flag("apply_residual_connection_post_layernorm", false)) {
    throw InputError(
        "{}: apply_residual_connection_post_layernorm is not supported; expected false",
        config.source());
  }
  set_gpt2_defaults(model);
  model.alibi = true;
  return model;
}

std::vector<TensorSpec> layer_tensors(const ModelConfig& c) {
  return head_by_head_tensors(c, "self_attention");
}

}  // namespace ropewalk::bloom_family

ROPEWALK_FAMILY(bloom, {.model_type = "bloom",
                        .configure = configure,
                        .layer_tensors = layer_tensors,
                        .root = "transformer.",
                        .layers = "h.",
                        .embedding = "word_embeddings.weight",
                        .embedding_norm = "word_embeddings_layernorm",
                        .final_norm = "ln_f",
                        .tied_head = true})
