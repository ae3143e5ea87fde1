#include "ropewalk/model/weights.h"

#include <gtest/gtest.h>

#include "ropewalk/base/error.h"
#include "tests/kernels/tensors.h"
#include "tests/model/tiny_checkpoint.h"

namespace ropewalk {
namespace {

TEST(WeightReader, StacksProjections) {
  TinyCheckpoint tiny;
  const auto opened = tiny.open();
  const LayerWeights weights = opened.reader({2}).load(1);
  const std::string layer = "model.layers.1.";
  const auto stored = [&](const char* name) { return tiny.tensors.at(layer + name); };
  EXPECT_TRUE(at::equal(
      weights.qkv, at::cat({stored("self_attn.q_proj.weight"), stored("self_attn.k_proj.weight"),
                            stored("self_attn.v_proj.weight")})));
  EXPECT_TRUE(at::equal(weights.gate_up,
                        at::cat({stored("mlp.gate_proj.weight"), stored("mlp.up_proj.weight")})));
  EXPECT_TRUE(at::equal(weights.down, stored("mlp.down_proj.weight")));
  EXPECT_TRUE(at::equal(weights.attn_norm, stored("input_layernorm.weight")));
  EXPECT_FALSE(weights.qkv_bias.defined());
}

TEST(WeightReader, LastLayerHasOnlyQueriesAndKeys) {
  TinyCheckpoint tiny;
  for (const char* name : {"self_attn.v_proj.weight", "self_attn.o_proj.weight",
                           "post_attention_layernorm.weight", "mlp.gate_proj.weight"}) {
    tiny.tensors.erase(std::string("model.layers.2.") + name);
  }
  const auto opened = tiny.open();
  const LayerWeights weights = opened.reader({2}).load(2);
  EXPECT_EQ(weights.qkv.sizes(), (std::vector<int64_t>{36, 16}));
  EXPECT_FALSE(weights.down.defined());
  EXPECT_FALSE(weights.mlp_norm.defined());
}

TEST(WeightReader, ReadsWhatTheExtentNeeds) {
  TinyCheckpoint tiny;
  const auto opened = tiny.open();
  EXPECT_TRUE(opened.reader({2, Needed::layer}).load(2).down.defined());
  EXPECT_EQ(opened.reader({2, Needed::layer}).load(2).qkv.size(0), 48);
  EXPECT_NE(opened.reader({2, Needed::layer}).digest(), opened.reader({2}).digest());
  tiny.tensors.erase("model.layers.2.mlp.down_proj.weight");
  const auto without = tiny.open();
  EXPECT_NO_THROW(without.reader({2}));
  EXPECT_THROW(without.reader({2, Needed::layer}), InputError);
}

TEST(WeightReader, ReadsTheHead) {
  constexpr Extent kAll{2, Needed::head};
  TinyCheckpoint tiny;
  tiny.add_head();
  const auto opened = tiny.open();
  const WeightReader reader = opened.reader(kAll);
  EXPECT_TRUE(at::equal(reader.load(3).head, tiny.tensors.at("lm_head.weight")));
  EXPECT_TRUE(at::equal(reader.load(3).final_norm, tiny.tensors.at("model.norm.weight")));
  EXPECT_EQ(reader.layer_bytes(3), 4 * (20 * 16 + 16));
  EXPECT_EQ(reader.digest({2}), opened.reader({2}).digest()) << "that of queries and keys stays";
  const std::string beyond = reader.digest_beyond({2});
  tiny.tensors["lm_head.weight"][3][4] += 1;
  const auto changed = tiny.open();
  EXPECT_EQ(changed.reader(kAll).digest({2}), opened.reader({2}).digest());
  EXPECT_NE(changed.reader(kAll).digest_beyond({2}), beyond);
}

TEST(WeightReader, TakesTheEmbeddingsForTheHeadWhereTheyAreTied) {
  constexpr Extent kAll{2, Needed::head};
  TinyCheckpoint tiny;
  tiny.add_head();
  tiny.config["tie_word_embeddings"] = true;
  EXPECT_TRUE(at::equal(tiny.open().reader(kAll).load(3).head, tiny.tensors.at("lm_head.weight")))
      << "as transformers does, a head that is there is the head";
  tiny.tensors.erase("lm_head.weight");
  const auto opened = tiny.open();
  const at::Tensor& table = tiny.tensors.at("model.embed_tokens.weight");
  EXPECT_TRUE(at::equal(opened.reader(kAll).load(3).head, table));
  tiny.config["tie_word_embeddings"] = false;
  const auto untied = tiny.open();
  EXPECT_NO_THROW(untied.reader({2})) << "nobody asks for it";
  try {
    untied.reader(kAll);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("has no head"), std::string::npos) << error.what();
  }
}

TEST(WeightReader, AFreshTiedHeadIsTheFreshEmbeddings) {
  TinyCheckpoint tiny;
  tiny.add_head();
  tiny.tensors.erase("lm_head.weight");
  tiny.config["tie_word_embeddings"] = true;
  const auto opened = tiny.open();
  const RandomWeights random(5, opened.model.config);
  const WeightReader reader(*opened.checkpoint, *opened.model.architecture, opened.model.config,
                            {2, Needed::head}, at::kFloat, at::kCPU, random);
  const std::vector<int32_t> some{3, 19};
  EXPECT_TRUE(
      at::equal(reader.load(3).head.index_select(0, at::tensor({3, 19})), random.embedding(some)));
}

TEST(WeightReader, LayersPastTheLastAreNeverLookedAt) {
  TinyCheckpoint tiny;
  tiny.tensors.erase("model.layers.2.self_attn.q_proj.weight");
  const auto opened = tiny.open();
  EXPECT_NO_THROW(opened.reader({1}));
  EXPECT_THROW(opened.reader({2}), InputError);
}

TEST(WeightReader, ConvertsOnce) {
  TinyCheckpoint tiny;
  const std::string name = "model.layers.0.self_attn.q_proj.weight";
  tiny.tensors[name] = tiny.tensors[name].to(at::kBFloat16);
  const auto opened = tiny.open();
  EXPECT_TRUE(
      at::equal(opened.reader({2}).load(0).qkv.slice(0, 0, 24), tiny.tensors[name].to(at::kFloat)));
  tiny.tensors[name] = tiny.tensors[name].to(at::kHalf);
  const auto half = tiny.open();
  const LayerWeights weights = half.reader({2}, at::kBFloat16).load(0);
  EXPECT_EQ(weights.qkv.scalar_type(), at::kBFloat16);
  EXPECT_TRUE(at::equal(weights.qkv.slice(0, 0, 24), tiny.tensors[name].to(at::kBFloat16)));
}

TEST(WeightReader, FindsTheModelInsideALargerOne) {
  for (const char* prefix : {"", "language_model.model.", "model.language_model."}) {
    TinyCheckpoint tiny;
    std::map<std::string, at::Tensor> renamed;
    for (const auto& [name, tensor] : tiny.tensors) renamed[prefix + name.substr(6)] = tensor;
    tiny.tensors = renamed;
    EXPECT_EQ(tiny.complaint(), "") << prefix;
  }
}

TEST(WeightReader, NamesWhatIsMissingOrMisshapen) {
  TinyCheckpoint none;
  none.tensors.erase("model.embed_tokens.weight");
  EXPECT_NE(none.complaint().find("looked for it as model.embed_tokens.weight, "),
            std::string::npos)
      << none.complaint();
  TinyCheckpoint missing;
  missing.tensors.erase("model.layers.1.mlp.up_proj.weight");
  EXPECT_EQ(missing.complaint(), ": tensor 'model.layers.1.mlp.up_proj.weight' is missing");
  TinyCheckpoint misshapen;
  misshapen.tensors["model.layers.1.mlp.up_proj.weight"] = at::zeros({24, 17});
  EXPECT_EQ(misshapen.complaint(),
            "/model.safetensors: tensor 'model.layers.1.mlp.up_proj.weight' has shape [24, 17], "
            "expected [24, 16] from config.json");
}

TEST(WeightReader, RefusesAConfigOfFewerLayers) {
  TinyCheckpoint cut;
  cut.config["num_hidden_layers"] = 2;
  EXPECT_EQ(cut.complaint(),
            "/model.safetensors: holds 'model.layers.2.input_layernorm.weight', but config.json "
            "has 2 layers, the last of them 1; expected the config that belongs to these weights");
}

TEST(WeightReader, EmbedsTokens) {
  TinyCheckpoint tiny;
  const auto opened = tiny.open();
  const WeightReader reader = opened.reader({0});
  const std::vector<int32_t> tokens{3, 0, 19, 3};
  const at::Tensor& table = tiny.tensors.at("model.embed_tokens.weight");
  EXPECT_TRUE(at::equal(reader.embed(tokens), table.index_select(0, at::tensor({3, 0, 19, 3}))));
  for (const int32_t bad : {-1, 20}) {
    const std::vector<int32_t> outside{1, bad};
    EXPECT_THROW(reader.embed(outside), InputError) << bad;
  }
}

// Rows of a fused matrix come as [heads, 3, d_head]; ours are [3, heads, d_head].
TEST(WeightReader, TakesFusedHeadsApart) {
  TinyCheckpoint neox;
  neox.config["model_type"] = "gpt_neox";
  neox.config["head_dim"] = 4;
  neox.config["rotary_pct"] = 0.5;
  neox.tensors.clear();
  const auto add = [&](const std::string& name, const std::vector<int64_t>& shape) {
    neox.tensors["gpt_neox." + name] = random_tensor(shape, neox.tensors.size());
  };
  add("embed_in.weight", {20, 16});
  for (const std::string layer : {"layers.0.", "layers.1.", "layers.2."}) {
    for (const char* norm : {"input_layernorm", "post_attention_layernorm"}) {
      add(layer + norm + ".weight", {16});
      add(layer + norm + ".bias", {16});
    }
    add(layer + "attention.query_key_value.weight", {48, 16});
    add(layer + "attention.query_key_value.bias", {48});
    add(layer + "attention.dense.weight", {16, 16});
    add(layer + "attention.dense.bias", {16});
    add(layer + "mlp.dense_h_to_4h.weight", {24, 16});
    add(layer + "mlp.dense_h_to_4h.bias", {24});
    add(layer + "mlp.dense_4h_to_h.weight", {16, 24});
    add(layer + "mlp.dense_4h_to_h.bias", {16});
  }
  const auto opened = neox.open();
  const at::Tensor fused = neox.tensors.at("gpt_neox.layers.1.attention.query_key_value.weight");
  const at::Tensor bias = neox.tensors.at("gpt_neox.layers.1.attention.query_key_value.bias");
  for (const int64_t last : {1, 2}) {
    const LayerWeights weights = opened.reader({last}).load(1);
    ASSERT_EQ(weights.qkv.size(0), last == 1 ? 32 : 48);
    for (int64_t row = 0; row < weights.qkv.size(0); ++row) {
      const int64_t part = row / 16;
      const int64_t head = row % 16 / 4;
      const int64_t source = head * 12 + part * 4 + row % 4;
      EXPECT_TRUE(at::equal(weights.qkv.select(0, row), fused.select(0, source))) << row;
      EXPECT_EQ(element(weights.qkv_bias, row), element(bias, source)) << row;
    }
  }
}

// Weights are stored as columns; positions are added to embeddings.
TEST(WeightReader, TakesColumnsAndPositions) {
  TinyCheckpoint gpt2;
  gpt2.config = {{"model_type", "gpt2"}, {"vocab_size", 20}, {"n_embd", 16},    {"n_layer", 1},
                 {"n_head", 4},          {"n_inner", 24},    {"n_positions", 5}};
  gpt2.tensors.clear();
  const auto add = [&](const std::string& name, const std::vector<int64_t>& shape) {
    gpt2.tensors[name] = random_tensor(shape, gpt2.tensors.size());
  };
  add("wte.weight", {20, 16});  // saved without a head
  add("wpe.weight", {5, 16});
  for (const char* norm : {"h.0.ln_1", "h.0.ln_2"}) {
    add(std::string(norm) + ".weight", {16});
    add(std::string(norm) + ".bias", {16});
  }
  add("h.0.attn.c_attn.weight", {16, 48});
  add("h.0.attn.c_attn.bias", {48});
  add("h.0.attn.c_proj.weight", {16, 16});
  add("h.0.attn.c_proj.bias", {16});
  add("h.0.mlp.c_fc.weight", {16, 24});
  add("h.0.mlp.c_fc.bias", {24});
  add("h.0.mlp.c_proj.weight", {24, 16});
  add("h.0.mlp.c_proj.bias", {16});
  const auto opened = gpt2.open();
  const WeightReader reader = opened.reader({0});
  const LayerWeights weights = reader.load(0);
  EXPECT_TRUE(at::equal(weights.qkv, gpt2.tensors["h.0.attn.c_attn.weight"].t().slice(0, 0, 32)))
      << "of the last layer queries and keys";
  EXPECT_TRUE(at::equal(weights.qkv_bias, gpt2.tensors["h.0.attn.c_attn.bias"].slice(0, 0, 32)));
  const std::vector<int32_t> tokens{3, 0, 19};
  const at::Tensor words = gpt2.tensors["wte.weight"].index_select(0, at::tensor({3, 0, 19}));
  EXPECT_TRUE(at::equal(reader.embed(tokens), words + gpt2.tensors["wpe.weight"].slice(0, 0, 3)));
  EXPECT_THROW(reader.embed(std::vector<int32_t>(6, 1)), InputError) << "beyond the last position";
  gpt2.tensors["h.0.mlp.c_fc.weight"] = at::zeros({24, 16});
  EXPECT_EQ(gpt2.complaint(), "") << "of a single layer only queries and keys are looked at";
  gpt2.tensors["h.0.attn.c_attn.weight"] = at::zeros({48, 16});
  EXPECT_NE(gpt2.complaint().find("has shape [48, 16], expected [16, 48]"), std::string::npos);
}

}  // namespace
}  // namespace ropewalk
