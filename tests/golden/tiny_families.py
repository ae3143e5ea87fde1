"""Tiny configs of every architecture.

Between them they cover each RoPE type, head layout, bias, norm, activation, mask, dtype and file
layout the engine reads. Models are a few layers deep: bfloat16 errors grow with depth, and
transformers' own stay within 1.4 % of a stream here.
"""

import dataclasses

VOCAB = 97
CONTEXT = 120
# One document is cut to the context, one is a single token; ids are neither sorted nor contiguous.
DOCUMENTS = {7: 150, 3: 65, 12: 1, 4: 33}


@dataclasses.dataclass(frozen=True)
class TinyModel:
    name: str
    architecture: str  # transformers class
    model_type: str
    config: dict
    dtype: str = "float32"  # of the stored weights
    shard: str = "5GB"  # largest shard; small values give several files and an index
    old: str = ""  # spelling of RoPE before transformers 5: "", "rope_type" or "type"
    old_drops: tuple = ()  # keys absent from older config.json files, to be derived again
    old_adds: dict = dataclasses.field(default_factory=dict)
    tied_experts: bool = False  # the router cannot tell some experts from each other
    seed: int = 0


_SMALL = dict(
    vocab_size=VOCAB, hidden_size=48, intermediate_size=80, num_hidden_layers=4, num_attention_heads=4,
    num_key_value_heads=2, max_position_embeddings=128, pad_token_id=0, bos_token_id=1, eos_token_id=2,
    rms_norm_eps=3e-3,  # large enough that an engine with another epsilon fails
)  # fmt: skip

MODELS: dict[str, TinyModel] = {}


def _add(name, architecture, model_type, *, rope, options=None, without=(), **config):
    merged = {key: value for key, value in {**_SMALL, **config}.items() if key not in without}
    if rope is not None:
        merged["rope_parameters"] = rope
    MODELS[name] = TinyModel(name, architecture, model_type, merged, seed=len(MODELS), **(options or {}))


def rope_settings(rope_type="default", theta=10000.0, **parameters):
    return dict(rope_type=rope_type, rope_theta=theta, **parameters)


# With 6 frequencies: one fast, two in the smoothed band, three slow
_LLAMA3 = rope_settings("llama3", 500.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=64)
_YARN = rope_settings("yarn", factor=4.0, original_max_position_embeddings=32)

# llama: head layouts, biases, tied and untied, every RoPE type
_add("llama_gqa", "LlamaForCausalLM", "llama", rope=rope_settings(theta=1234.5), head_dim=16, attention_bias=True,
     mlp_bias=True, options=dict(old="rope_type"))
_add("llama_llama3_mha", "LlamaForCausalLM", "llama", rope=_LLAMA3, num_key_value_heads=4, hidden_act="gelu",
     tie_word_embeddings=True, options=dict(old="rope_type", shard="30KB"))
_add("llama_linear_mqa", "LlamaForCausalLM", "llama", rope=rope_settings("linear", factor=4.0), num_key_value_heads=1,
     head_dim=32, options=dict(old="type", dtype="bfloat16"))
# 65 and 120 tokens are beyond this context of 64, 33 are not; each document has angles of its own
_add("llama_dynamic", "LlamaForCausalLM", "llama", rope=rope_settings("dynamic", factor=2.0), max_position_embeddings=64,
     options=dict(old="type", dtype="float16"))
_add("llama_yarn", "LlamaForCausalLM", "llama", rope=_YARN, head_dim=32, hidden_act="gelu_new", options=dict(old="type"))
_add("llama_yarn_mscale", "LlamaForCausalLM", "llama", head_dim=32,
     rope=rope_settings("yarn", 500.0, factor=4.0, original_max_position_embeddings=32, mscale=0.8, mscale_all_dim=0.4,
                beta_fast=4, beta_slow=1.5, truncate=False),
     options=dict(old="rope_type"))
# without original_max_position_embeddings, max_position_embeddings stands for it
_add("llama_yarn_no_original", "LlamaForCausalLM", "llama", rope=rope_settings("yarn", factor=2.0), head_dim=32,
     max_position_embeddings=64, options=dict(old="type"))

# smollm3: NoPE by interval and by list, sliding NoPE layers
_add("smollm3_list_sliding", "SmolLM3ForCausalLM", "smollm3", rope=_YARN, no_rope_layers=[0, 1, 1, 0], head_dim=16,
     use_sliding_window=True, sliding_window=24, attention_bias=True, mlp_bias=True, tie_word_embeddings=False,
     options=dict(old="type", old_drops=("layer_types",), shard="40KB"))
_add("smollm3_interval", "SmolLM3ForCausalLM", "smollm3", rope=rope_settings(theta=5e4), num_hidden_layers=5,
     no_rope_layer_interval=2, options=dict(old="rope_type", old_drops=("no_rope_layers", "layer_types"), dtype="bfloat16"))

# qwen2 and qwen3: biases or per-head norms, sliding from max_window_layers on
_add("qwen2_bias", "Qwen2ForCausalLM", "qwen2", rope=rope_settings(theta=1e6), tie_word_embeddings=True,
     options=dict(old="rope_type"))
_add("qwen2_sliding", "Qwen2ForCausalLM", "qwen2", rope=_YARN, num_key_value_heads=1, use_sliding_window=True,
     sliding_window=20, max_window_layers=2, options=dict(old="type", old_drops=("layer_types",), dtype="float16"))
_add("qwen3_yarn", "Qwen3ForCausalLM", "qwen3", rope=dict(_YARN, attention_factor=1.3, beta_fast=2), head_dim=32,
     attention_bias=True, options=dict(old="rope_type", shard="50KB"))
_add("qwen3_sliding", "Qwen3ForCausalLM", "qwen3", rope=rope_settings(theta=1e6), head_dim=16, num_key_value_heads=4,
     hidden_act="gelu_pytorch_tanh", use_sliding_window=True, sliding_window=17, max_window_layers=1,
     options=dict(old="rope_type", old_drops=("layer_types",), dtype="bfloat16"))

# mistral: one window for all layers; ministral3: queries scaled with position
_add("mistral_sliding", "MistralForCausalLM", "mistral", rope=rope_settings(), head_dim=16, sliding_window=16,
     options=dict(old="rope_type"))
_add("mistral_full", "MistralForCausalLM", "mistral", rope=rope_settings("linear", factor=2.0), sliding_window=None,
     num_key_value_heads=4, hidden_act="relu", options=dict(old="type", dtype="bfloat16"))
_add("ministral3", "Ministral3ForCausalLM", "ministral3", head_dim=16,
     rope=dict(_YARN, mscale=1.0, mscale_all_dim=1.0, beta_fast=32.0, beta_slow=1.0, llama_4_scaling_beta=0.1),
     options=dict(old="rope_type"))
_add("ministral3_sliding", "Ministral3ForCausalLM", "ministral3", head_dim=32, num_key_value_heads=1, num_hidden_layers=3,
     sliding_window=40,
     rope=rope_settings("yarn", 1e6, factor=8.0, original_max_position_embeddings=16, llama_4_scaling_beta=0.4),
     options=dict(old="type", dtype="bfloat16", shard="60KB"))

# gemma3: two thetas, sliding layers, norms about one, scaled embeddings; alone and inside the multimodal model
_GEMMA_ROPE = dict(full_attention=rope_settings("linear", 1e5, factor=8.0), sliding_attention=rope_settings(theta=1e3))
_GEMMA_OLD = dict(old="rope_type", old_drops=("layer_types", "_sliding_window_pattern"))
_add("gemma3_text", "Gemma3ForCausalLM", "gemma3_text", rope=_GEMMA_ROPE, head_dim=16, query_pre_attn_scalar=24,
     sliding_window=16, layer_types=["sliding_attention", "sliding_attention", "full_attention", "sliding_attention"],
     options=dict(_GEMMA_OLD, old_adds=dict(sliding_window_pattern=3)))
_add("gemma3_text_bias", "Gemma3ForCausalLM", "gemma3_text", head_dim=32, num_key_value_heads=1, sliding_window=50,
     rope=dict(full_attention=rope_settings(theta=1e6), sliding_attention=rope_settings()), attention_bias=True, num_hidden_layers=3,
     layer_types=["full_attention", "sliding_attention", "full_attention"], final_logit_softcapping=1.2,
     options=dict(dtype="bfloat16"))
_add("gemma3", "Gemma3ForConditionalGeneration", "gemma3", rope=_GEMMA_ROPE, head_dim=16, query_pre_attn_scalar=16,
     sliding_window=30, layer_types=["sliding_attention", "full_attention"] * 2,
     options=dict(_GEMMA_OLD, old_adds=dict(sliding_window_pattern=2), shard="50KB"))

# glm and glm4: interleaved, partial rotary, fused gate and up
_add("glm", "GlmForCausalLM", "glm", rope=rope_settings(partial_rotary_factor=0.5), head_dim=16, options=dict(old="rope_type"))
_add("glm_three_quarters", "GlmForCausalLM", "glm", rope=rope_settings("linear", factor=2.0, partial_rotary_factor=0.75),
     head_dim=16, attention_bias=False, num_key_value_heads=4, options=dict(old="type", dtype="float16"))
_add("glm4", "Glm4ForCausalLM", "glm4", rope=rope_settings(partial_rotary_factor=0.5), head_dim=16, num_key_value_heads=1,
     options=dict(old="rope_type", dtype="bfloat16"))
_add("glm4_yarn", "Glm4ForCausalLM", "glm4", rope=dict(_YARN, partial_rotary_factor=0.5), head_dim=32,
     num_hidden_layers=3, attention_bias=False, options=dict(old="type", shard="50KB"))

# olmo2 and olmo3: norms after the blocks, q/k norm over the whole projection
_add("olmo2_gqa", "Olmo2ForCausalLM", "olmo2", rope=rope_settings(theta=5e5), options=dict(old="rope_type"))
_add("olmo2_mha", "Olmo2ForCausalLM", "olmo2", rope=rope_settings("linear", factor=3.0), num_key_value_heads=4, head_dim=16,
     attention_bias=True, tie_word_embeddings=True, options=dict(old="type", dtype="bfloat16"))
# theta is olmo3's own 500000: from the old spelling transformers gives any other only to full layers
_add("olmo3", "Olmo3ForCausalLM", "olmo3", sliding_window=16, head_dim=16,
     rope=dict(full_attention=dict(_YARN, rope_theta=5e5, attention_factor=1.2, beta_fast=32.0, beta_slow=1.0),
               sliding_attention=rope_settings(theta=5e5)),
     options=dict(old="rope_type", old_drops=("layer_types",)))
_add("olmo3_two_thetas", "Olmo3ForCausalLM", "olmo3", num_key_value_heads=4, sliding_window=30, attention_bias=True,
     rope=dict(full_attention=rope_settings(theta=2e5), sliding_attention=rope_settings("linear", 1e3, factor=2.0)),
     layer_types=["full_attention", "sliding_attention"] * 2, options=dict(dtype="float16"))

# gpt_neox: fused per-head QKV, LayerNorm, both residual forms, partial rotary
_NEOX = dict(without=("num_key_value_heads", "rms_norm_eps"), layer_norm_eps=3e-3, hidden_size=64)
_add("gpt_neox_parallel", "GPTNeoXForCausalLM", "gpt_neox", rope=rope_settings(theta=5000.0, partial_rotary_factor=0.25),
     options=dict(old="rope_type", dtype="float16"), **_NEOX)
_add("gpt_neox_sequential", "GPTNeoXForCausalLM", "gpt_neox", rope=rope_settings("linear", partial_rotary_factor=0.5, factor=2.0),
     use_parallel_residual=False, hidden_act="gelu_new", options=dict(old="type", shard="50KB"), **_NEOX)
_add("gpt_neox_no_bias", "GPTNeoXForCausalLM", "gpt_neox", rope=rope_settings(partial_rotary_factor=1.0), attention_bias=False,
     hidden_act="relu", tie_word_embeddings=True, options=dict(old="rope_type"), **_NEOX)

# apertus: per-head norms, xIELU with its own parameters in each layer
_add("apertus", "ApertusForCausalLM", "apertus", rope=_LLAMA3, options=dict(old="rope_type"))
_add("apertus_mha", "ApertusForCausalLM", "apertus", rope=rope_settings(theta=1e6), num_key_value_heads=4, head_dim=16,
     attention_bias=True, options=dict(dtype="bfloat16", shard="40KB"))

# mllama: text layers; cross-attention layers do nothing without an image
_MLLAMA = dict(num_hidden_layers=5, cross_attention_layers=[1, 3])
_add("mllama_text", "MllamaForCausalLM", "mllama_text_model", rope=_LLAMA3, options=dict(old="rope_type"), **_MLLAMA)
_add("mllama", "MllamaForConditionalGeneration", "mllama", rope=rope_settings(theta=5e5), options=dict(old="rope_type", shard="60KB"),
     **_MLLAMA)

# olmo: norms without weights, clipped projections
_add("olmo", "OlmoForCausalLM", "olmo", rope=rope_settings(theta=5e3), clip_qkv=1.1, without=("rms_norm_eps",),
     options=dict(old="rope_type"))
_add("olmo_mha", "OlmoForCausalLM", "olmo", rope=rope_settings("linear", factor=2.0), num_key_value_heads=4, head_dim=20,
     attention_bias=True, tie_word_embeddings=True, without=("rms_norm_eps",), options=dict(old="type", dtype="bfloat16", shard="40KB"))

# granite: multipliers
_add("granite", "GraniteForCausalLM", "granite", rope=rope_settings(), embedding_multiplier=3.0, attention_multiplier=0.15,
     residual_multiplier=0.4, logits_scaling=4.0, options=dict(old="rope_type"))
_add("granite_bias", "GraniteForCausalLM", "granite", rope=_YARN, num_key_value_heads=1, head_dim=20, embedding_multiplier=1.5,
     attention_multiplier=0.3, residual_multiplier=0.7, attention_bias=True, mlp_bias=True, options=dict(old="type", dtype="float16"))

# gemma2: capped scores, sliding layers, norms on both sides
_add("gemma2", "Gemma2ForCausalLM", "gemma2", rope=rope_settings(), head_dim=16, query_pre_attn_scalar=24, sliding_window=16,
     attn_logit_softcapping=0.8, final_logit_softcapping=0.9, options=dict(old="rope_type", old_drops=("layer_types",)))
_add("gemma2_no_cap", "Gemma2ForCausalLM", "gemma2", rope=rope_settings("linear", factor=4.0), head_dim=32, num_key_value_heads=1,
     num_hidden_layers=3, sliding_window=50, attn_logit_softcapping=None, attention_bias=True,
     layer_types=["full_attention", "sliding_attention", "full_attention"], options=dict(dtype="bfloat16", shard="60KB"))

# phi3: fused projections, LongRoPE: 65 and 120 tokens are beyond the original 64, 33 are not
_FACTORS = dict(short_factor=[1.0, 1.1, 1.3, 1.6, 2.0, 2.5], long_factor=[1.0, 1.5, 2.0, 3.0, 4.0, 5.0])
_add("phi3", "Phi3ForCausalLM", "phi3", original_max_position_embeddings=64,
     rope=rope_settings("longrope", original_max_position_embeddings=64, partial_rotary_factor=1.0, **_FACTORS), options=dict(old="type"))
_add("phi3_partial", "Phi3ForCausalLM", "phi3", num_key_value_heads=4, sliding_window=24, original_max_position_embeddings=64,
     rope=rope_settings("longrope", 1e5, original_max_position_embeddings=64, partial_rotary_factor=0.5, attention_factor=1.2,
                short_factor=[1.0, 1.2, 2.0], long_factor=[1.0, 3.0, 6.0]),
     options=dict(dtype="bfloat16", shard="60KB", old="type"))
_add("phi3_plain", "Phi3ForCausalLM", "phi3", rope=rope_settings(theta=5e3, partial_rotary_factor=1.0), num_key_value_heads=1,
     head_dim=20, num_hidden_layers=3, options=dict(dtype="float16"))

# gpt2: learned positions, weights stored as columns; bloom: ALiBi. Neither has RoPE.
_NO_ROPE = ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads",
            "max_position_embeddings", "rms_norm_eps")  # fmt: skip
_add("gpt2", "GPT2LMHeadModel", "gpt2", rope=None, without=_NO_ROPE, n_embd=48, n_layer=4, n_head=4, n_positions=128,
     layer_norm_epsilon=3e-3)
_add("gpt2_inner", "GPT2LMHeadModel", "gpt2", rope=None, without=_NO_ROPE, n_embd=45, n_layer=3, n_head=3, n_positions=120,
     n_inner=80, activation_function="relu", scale_attn_weights=False, layer_norm_epsilon=3e-3,
     options=dict(dtype="bfloat16", shard="40KB"))
_add("gpt2_by_layer", "GPT2LMHeadModel", "gpt2", rope=None, without=_NO_ROPE, n_embd=48, n_layer=4, n_head=4, n_positions=128,
     scale_attn_by_inverse_layer_idx=True, reorder_and_upcast_attn=True, layer_norm_epsilon=3e-3, options=dict(dtype="float16"))
_add("bloom", "BloomForCausalLM", "bloom", rope=None, without=_NO_ROPE[1:], n_layer=4, n_head=4,
     layer_norm_epsilon=3e-3)
_add("bloom_six", "BloomForCausalLM", "bloom", rope=None, without=_NO_ROPE[1:], hidden_size=54, n_layer=3, n_head=6,
     layer_norm_epsilon=3e-3, options=dict(dtype="float16", shard="40KB"))

# mixtures: which experts a token goes to, what the chosen ones count, layers with an MLP among the others
_add("mixtral", "MixtralForCausalLM", "mixtral", rope=rope_settings(theta=1e6), num_local_experts=4, options=dict(old="rope_type"))
_add("mixtral_sliding", "MixtralForCausalLM", "mixtral", rope=rope_settings("linear", factor=2.0), head_dim=20, num_key_value_heads=1,
     sliding_window=24, num_local_experts=8, num_experts_per_tok=3, num_hidden_layers=3, hidden_act="gelu",
     options=dict(old="type", dtype="bfloat16", shard="60KB"))
_add("mixtral_ties", "MixtralForCausalLM", "mixtral", rope=rope_settings(), num_local_experts=8, num_experts_per_tok=3,
     options=dict(tied_experts=True))
_QWEN_MOE = dict(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=20)
_add("qwen3_moe_some", "Qwen3MoeForCausalLM", "qwen3_moe", rope=rope_settings(theta=1e6), head_dim=16, attention_bias=True,
     decoder_sparse_step=2, mlp_only_layers=[3], num_hidden_layers=7, **_QWEN_MOE, options=dict(old="rope_type", shard="50KB"))
_add("qwen3_moe", "Qwen3MoeForCausalLM", "qwen3_moe", rope=_YARN, head_dim=32, norm_topk_prob=True, **_QWEN_MOE,
     options=dict(old="type"))
_add("qwen3_moe_sliding", "Qwen3MoeForCausalLM", "qwen3_moe", rope=rope_settings(), num_key_value_heads=4, num_hidden_layers=3,
     use_sliding_window=True, sliding_window=20, mlp_only_layers=[0], num_experts=7, num_experts_per_tok=1,
     moe_intermediate_size=33, options=dict(dtype="float16"))
_add("qwen3_moe_ties", "Qwen3MoeForCausalLM", "qwen3_moe", rope=rope_settings(), num_experts=8, num_experts_per_tok=3,
     moe_intermediate_size=20, options=dict(tied_experts=True))
_add("olmoe", "OlmoeForCausalLM", "olmoe", rope=rope_settings(), num_experts=6, num_experts_per_tok=3, clip_qkv=1.2,
     options=dict(old="rope_type"))
_add("olmoe_mha", "OlmoeForCausalLM", "olmoe", rope=rope_settings("linear", factor=2.0), num_key_value_heads=4, attention_bias=True,
     num_experts=5, num_experts_per_tok=5, norm_topk_prob=True, num_hidden_layers=3,
     options=dict(old="type", dtype="bfloat16", shard="40KB"))
_add("olmoe_ties", "OlmoeForCausalLM", "olmoe", rope=rope_settings(), num_experts=80, num_experts_per_tok=1, intermediate_size=12,
     options=dict(tied_experts=True))

# gpt_oss: sinks, experts in stacks with biases, a gate that is cut: a low limit, so that it cuts
_add("gpt_oss", "GptOssForCausalLM", "gpt_oss", head_dim=16, sliding_window=16, num_local_experts=4, num_experts_per_tok=2,
     swiglu_limit=0.7, swiglu_alpha=1.5,
     rope=rope_settings("yarn", 150000.0, factor=4.0, original_max_position_embeddings=32, beta_fast=32.0, beta_slow=1.0, truncate=False),
     options=dict(old="rope_type", old_drops=("layer_types",)))
_add("gpt_oss_no_bias", "GptOssForCausalLM", "gpt_oss", head_dim=20, num_key_value_heads=1, sliding_window=50,
     num_local_experts=6, num_experts_per_tok=3, num_hidden_layers=3, attention_bias=False, rope=rope_settings(),
     layer_types=["full_attention", "full_attention", "sliding_attention"], options=dict(dtype="bfloat16", shard="60KB"))
_add("gpt_oss_ties", "GptOssForCausalLM", "gpt_oss", head_dim=16, num_key_value_heads=4, sliding_window=30,
     num_local_experts=8, num_experts_per_tok=3, rope=rope_settings(), options=dict(tied_experts=True))

# starcoder2: LayerNorm with biases and a plain MLP, grouped queries, one window for all layers
# (torch's gelu rounds the last numbers of a tensor, beyond a multiple of 32, in another way: with rows of 96 none are)
_STARCODER = dict(without=("rms_norm_eps",), norm_epsilon=3e-3, intermediate_size=96)
_add("starcoder2", "Starcoder2ForCausalLM", "starcoder2", rope=rope_settings(theta=1e5), sliding_window=20, **_STARCODER, options=dict(old="rope_type"))
_add("starcoder2_no_bias", "Starcoder2ForCausalLM", "starcoder2", rope=rope_settings("linear", factor=2.0), use_bias=False, num_key_value_heads=1,
     hidden_act="relu", tie_word_embeddings=False, **_STARCODER, options=dict(old="type", dtype="bfloat16", shard="50KB"))

# seed_oss: biases of queries, keys and values alone, or elsewhere alone
_add("seed_oss", "SeedOssForCausalLM", "seed_oss", rope=rope_settings(theta=1e7), head_dim=20, options=dict(old="rope_type"))
_add("seed_oss_other_bias", "SeedOssForCausalLM", "seed_oss", rope=_YARN, head_dim=32, attention_bias=False, attention_out_bias=True, mlp_bias=True,
     num_key_value_heads=4, options=dict(old="type", dtype="bfloat16", shard="50KB"))

# ernie4_5: interleaved pairs over the whole head
_add("ernie4_5", "Ernie4_5ForCausalLM", "ernie4_5", rope=rope_settings(theta=5e5), head_dim=16, options=dict(old="rope_type"))
_add("ernie4_5_bias", "Ernie4_5ForCausalLM", "ernie4_5", rope=rope_settings("linear", factor=2.0), head_dim=20, use_bias=True, num_key_value_heads=1,
     tie_word_embeddings=False, num_hidden_layers=3, options=dict(old="type", dtype="float16"))

# exaone4: norms after the blocks, per-head norms; where layers slide, the full ones have no RoPE
_add("exaone4", "Exaone4ForCausalLM", "exaone4", rope=_LLAMA3, head_dim=12, sliding_window=24, num_hidden_layers=5,
     options=dict(old="rope_type", old_drops=("layer_types",)))
_add("exaone4_full", "Exaone4ForCausalLM", "exaone4", rope=rope_settings(theta=1e6), head_dim=12, sliding_window=None, layer_types=["full_attention"] * 4,
     num_key_value_heads=4, tie_word_embeddings=True, options=dict(old="rope_type", dtype="bfloat16", shard="50KB"))

# cohere2: one LayerNorm without bias for both blocks, interleaved pairs, full layers without RoPE, scaled logits
_COHERE = dict(without=("rms_norm_eps",), layer_norm_eps=3e-3, sliding_window=16)
_add("cohere2", "Cohere2ForCausalLM", "cohere2", rope=rope_settings(theta=5e4), num_hidden_layers=5, logit_scale=0.3, **_COHERE,
     options=dict(old="rope_type", old_drops=("layer_types",)))
_add("cohere2_bias", "Cohere2ForCausalLM", "cohere2", rope=rope_settings("linear", factor=2.0), attention_bias=True, num_key_value_heads=1, num_hidden_layers=3,
     layer_types=["full_attention", "sliding_attention", "full_attention"], tie_word_embeddings=False, **_COHERE,
     options=dict(old="type", dtype="bfloat16", shard="50KB"))

# ministral3 inside the multimodal model
_add("mistral3", "Mistral3ForConditionalGeneration", "mistral3", head_dim=16,
     rope=dict(_YARN, mscale=1.0, mscale_all_dim=1.0, beta_fast=32.0, beta_slow=1.0, llama_4_scaling_beta=0.1),
     options=dict(shard="60KB"))


def big_llama(layers=12):
    """About 200 MB of float32 weights: enough for a memory budget to bite."""
    config = dict(_SMALL, hidden_size=512, intermediate_size=2048, num_hidden_layers=layers, num_attention_heads=8,
                  num_key_value_heads=4, max_position_embeddings=256, rope_parameters=rope_settings())  # fmt: skip
    return TinyModel("big_llama", "LlamaForCausalLM", "llama", config, shard="60MB")


def big_mixture(family):
    """About 200 MB of float32 weights, nearly all of them in the experts of two layers of three."""
    architecture = dict(mixtral="MixtralForCausalLM", gpt_oss="GptOssForCausalLM")[family]
    config = dict(_SMALL, hidden_size=512, intermediate_size=1408, num_hidden_layers=3, num_attention_heads=8,
                  num_key_value_heads=4, max_position_embeddings=256, num_local_experts=8, num_experts_per_tok=2,
                  rope_parameters=rope_settings())  # fmt: skip
    return TinyModel("big_mixture", architecture, family, config, shard="60MB")
