#include "tests/model/tiny_checkpoint.h"

#include "ropewalk/base/error.h"
#include "ropewalk/checkpoint/safetensors_writer.h"
#include "tests/kernels/tensors.h"

namespace ropewalk {
namespace {

constexpr int64_t kWords = 20;

std::string_view stored_name(at::ScalarType type) {
  return type == at::kHalf ? "F16" : type == at::kBFloat16 ? "BF16" : "F32";
}

}  // namespace

TinyCheckpoint::TinyCheckpoint()
    : config{{"model_type", "llama"},         {"vocab_size", kWords},   {"hidden_size", 16},
             {"intermediate_size", 24},       {"num_hidden_layers", 3}, {"num_attention_heads", 4},
             {"num_key_value_heads", 2},      {"head_dim", 6},          {"rms_norm_eps", 1e-5},
             {"max_position_embeddings", 64}, {"rope_theta", 10000.0},  {"hidden_act", "silu"}} {
  uint64_t seed = 0;
  const auto add = [&](const std::string& name, const std::vector<int64_t>& shape) {
    tensors[name] = random_tensor(shape, ++seed) * 0.5;
  };
  add("model.embed_tokens.weight", {kWords, 16});
  for (const char* layer : {"model.layers.0.", "model.layers.1.", "model.layers.2."}) {
    const std::string prefix = layer;
    add(prefix + "input_layernorm.weight", {16});
    add(prefix + "self_attn.q_proj.weight", {24, 16});
    add(prefix + "self_attn.k_proj.weight", {12, 16});
    add(prefix + "self_attn.v_proj.weight", {12, 16});
    add(prefix + "self_attn.o_proj.weight", {16, 24});
    add(prefix + "post_attention_layernorm.weight", {16});
    add(prefix + "mlp.gate_proj.weight", {24, 16});
    add(prefix + "mlp.up_proj.weight", {24, 16});
    add(prefix + "mlp.down_proj.weight", {16, 24});
  }
}

void TinyCheckpoint::add_head() {
  tensors["model.norm.weight"] = random_tensor({16}, 101);
  tensors["lm_head.weight"] = random_tensor({kWords, 16}, 102);
}

TinyCheckpoint::Opened TinyCheckpoint::open() {
  std::vector<TensorToWrite> stored;
  for (const auto& [name, tensor] : tensors) {
    const at::Tensor kept = tensor.contiguous();
    const std::string bytes(static_cast<const char*>(kept.const_data_ptr()), kept.nbytes());
    stored.push_back({name, std::string(stored_name(tensor.scalar_type())), tensor.sizes().vec(),
                      static_cast<int64_t>(bytes.size()),
                      [bytes](const ByteSink& write) { write(bytes); }});
  }
  write_safetensors(folder_.path() / "model.safetensors", stored, {});
  folder_.write("config.json", config.dump());
  Opened opened;
  opened.checkpoint = std::make_unique<Checkpoint>(folder_.path());
  opened.model = read_text_model(opened.checkpoint->config());
  return opened;
}

std::string TinyCheckpoint::complaint() {
  try {
    const Opened opened = open();
    opened.reader({opened.model.config.n_layers - 1});
  } catch (const InputError& error) {
    const std::string text = error.what();
    const std::string prefix = folder_.path().string();
    return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
  }
  return "";
}

std::vector<Document> tiny_documents(const std::vector<int64_t>& lengths) {
  std::vector<Document> documents;
  for (const int64_t length : lengths) {
    Document document;
    document.index = static_cast<int64_t>(documents.size());
    document.example_id = document.index;
    for (int64_t t = 0; t < length; ++t) {
      document.tokens.push_back(static_cast<int32_t>((t * t + 3 * t + 7 * length) % kWords));
    }
    documents.push_back(std::move(document));
  }
  return documents;
}

}  // namespace ropewalk
