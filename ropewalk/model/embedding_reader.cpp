#include "ropewalk/model/embedding_reader.h"

#include "ropewalk/base/error.h"
#include "ropewalk/kernels/products/elementwise.h"
#include "ropewalk/model/architecture.h"
#include "ropewalk/model/stored_tensor.h"

namespace ropewalk {

EmbeddingReader::EmbeddingReader(const Checkpoint& checkpoint, const Architecture& architecture,
                                 const ModelConfig& config, const std::string& prefix,
                                 at::ScalarType dtype, at::Device device,
                                 const std::optional<RandomWeights>& random)
    : checkpoint_(checkpoint),
      architecture_(architecture),
      config_(config),
      prefix_(prefix),
      dtype_(dtype),
      device_(device),
      random_(random) {
  require_shape(checkpoint, prefix + std::string(architecture.embedding),
                {config.embedding_rows, config.d_model});
  if (!architecture.position_embedding.empty()) {
    require_shape(checkpoint, prefix + std::string(architecture.position_embedding),
                  {config.max_positions, config.d_model});
  }
  if (!architecture.embedding_norm.empty()) {
    const std::string norm = prefix + std::string(architecture.embedding_norm);
    norm_ = load_vector(norm + ".weight", TensorRole::norm);
    norm_bias_ = load_vector(norm + ".bias", TensorRole::bias);
  }
}

at::Tensor EmbeddingReader::read(std::span<const int32_t> tokens) const {
  for (const int32_t token : tokens) {
    if (token < 0 || token >= config_.embedding_rows) {
      throw InputError("token id {} is outside the model's vocabulary of {}", token,
                       config_.embedding_rows);
    }
  }
  const at::Tensor rows = random_ ? random_->embedding(tokens) : stored_rows(tokens);
  at::Tensor hidden = rows.to(device_, /*non_blocking=*/true).to(dtype_);
  if (config_.embedding_scale != 1) {
    // The scale itself is rounded to the model's dtype, as in training.
    hidden = hidden * at::full({}, config_.embedding_scale, hidden.options());
  }
  if (!architecture_.position_embedding.empty()) {
    hidden = hidden + position_rows(hidden.size(0)).to(device_).to(dtype_);
  }
  if (norm_.defined()) {
    hidden = layer_norm(hidden, norm_, norm_bias_, config_.norm_eps);
  }
  return hidden;
}

std::vector<std::string> EmbeddingReader::names() const {
  std::vector<std::string> names{prefix_ + std::string(architecture_.embedding)};
  if (!architecture_.position_embedding.empty()) {
    names.push_back(prefix_ + std::string(architecture_.position_embedding));
  }
  if (!architecture_.embedding_norm.empty()) {
    for (const char* part : {".weight", ".bias"}) {
      names.push_back(prefix_ + std::string(architecture_.embedding_norm) + part);
    }
  }
  return names;
}

at::Tensor EmbeddingReader::position_rows(int64_t tokens) const {
  if (tokens > config_.max_positions) {
    throw InputError("a document has {} tokens, but the model has {} positions", tokens,
                     config_.max_positions);
  }
  if (random_) return random_->positions(tokens);
  const std::string name = prefix_ + std::string(architecture_.position_embedding);
  checkpoint_.read({name});
  const TensorView view = checkpoint_.tensor(name);
  const at::Tensor rows = view_of(view).slice(0, 0, tokens).clone();
  view.shard->file().require_unchanged();
  return rows;
}

at::Tensor EmbeddingReader::load_vector(const std::string& name, TensorRole role) const {
  const c10::InferenceMode no_autograd;
  require_shape(checkpoint_, name, {config_.d_model});
  const TensorView view = checkpoint_.tensor(name);
  const at::Tensor values =
      random_ ? random_->tensor(role, name, {config_.d_model}) : view_of(view);
  const at::Tensor copied = at::empty({config_.d_model}, at::TensorOptions().dtype(dtype_));
  copied.copy_(values);
  return copied.to(device_);
}

at::Tensor EmbeddingReader::stored_rows(std::span<const int32_t> tokens) const {
  const std::string name = names().front();
  checkpoint_.read({name});
  const TensorView view = checkpoint_.tensor(name);
  const at::Tensor table = view_of(view);
  const at::Tensor wanted = at::from_blob(const_cast<int32_t*>(tokens.data()),
                                          {static_cast<int64_t>(tokens.size())}, at::kInt);
  at::Tensor rows = at::empty({wanted.size(0), config_.d_model},
                              table.options().pinned_memory(device_.is_cuda()));
  at::index_select_out(rows, table, 0, wanted);
  view.shard->file().require_unchanged();
  // On a GPU the budget does not cover these pages, and the next document needs them again.
  if (!device_.is_cuda()) view.shard->file().release(view.info->offset, view.info->bytes);
  return rows;
}

}  // namespace ropewalk
