#include "ropewalk/model/weights.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <numeric>

#include "ropewalk/base/error.h"
#include "ropewalk/kernels/elementwise.h"
#include "ropewalk/model/architecture.h"

namespace ropewalk {
namespace {

at::ScalarType scalar_type(StoredType type) {
  switch (type) {
    case StoredType::f16:
      return at::kHalf;
    case StoredType::bf16:
      return at::kBFloat16;
    default:
      return at::kFloat;
  }
}

// The stored tensor, on the file's mapping.
at::Tensor view_of(const TensorView& view) {
  const auto options = at::TensorOptions().dtype(scalar_type(view.info->type));
  auto* data = const_cast<std::byte*>(view.data());
  const StoredTensor& info = *view.info;
  return info.strides.empty() ? at::from_blob(data, info.shape, options)
                              : at::from_blob(data, info.shape, info.strides, options);
}

// From rows ordered [heads, 3, d_head] to [3, heads, d_head], or its first two thirds.
at::Tensor split_fused(const at::Tensor& source, int64_t heads, bool only_qk) {
  std::vector<int64_t> shape{heads, 3, source.size(0) / (3 * heads)};
  shape.insert(shape.end(), source.sizes().begin() + 1, source.sizes().end());
  at::Tensor parts = source.view(shape).transpose(0, 1);
  if (only_qk) parts = parts.slice(0, 0, 2);
  std::vector<int64_t> flat(source.sizes().begin(), source.sizes().end());
  flat[0] = -1;
  return parts.reshape(flat);
}

// Notes the hash of a tensor that is being read anyway.
void hash_tensor(const Checkpoint& checkpoint, const std::string& name, const TensorView& view) {
  if (checkpoint.known_hash(name)) return;
  // On torch's threads, which wait already.
  const auto run = [](size_t count, const std::function<void(size_t)>& work) {
    at::parallel_for(0, static_cast<int64_t>(count), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) work(static_cast<size_t>(i));
    });
  };
  const Stretch bytes(view.data(), static_cast<size_t>(view.info->bytes));
  checkpoint.add_hash(name, hash_stretch(bytes, run));
}

// Weights of layers that the config does not know: it is another model's, and how deep a layer lies
// would be wrong for all of them.
void refuse_more_layers(const Checkpoint& checkpoint, const std::string& prefix, int64_t n_layers) {
  for (const auto& shard : checkpoint.shards()) {
    const auto& tensors = shard->tensors();
    for (auto it = tensors.lower_bound(prefix); it != tensors.end(); ++it) {
      if (!it->first.starts_with(prefix)) break;
      const char* number = it->first.data() + prefix.size();
      int64_t layer = 0;
      const auto read = std::from_chars(number, it->first.data() + it->first.size(), layer);
      if (read.ec != std::errc() || layer < n_layers) continue;
      throw InputError(
          "{}: holds '{}', but config.json has {} layers, the last of them {}; expected the config "
          "that belongs to these weights",
          shard->path().string(), it->first, n_layers, n_layers - 1);
    }
  }
}

}  // namespace

WeightReader::WeightReader(const Checkpoint& checkpoint, const Architecture& architecture,
                           const ModelConfig& config, int64_t last_layer, at::ScalarType dtype,
                           at::Device device, const std::optional<RandomWeights>& random)
    : checkpoint_(checkpoint),
      architecture_(architecture),
      config_(config),
      last_layer_(last_layer),
      dtype_(dtype),
      device_(device),
      random_(random) {
  // Whether the model was saved with a head, and where a library puts it inside a larger one.
  const std::array<std::string_view, 4> roots{architecture.root, "", "language_model.model.",
                                              "model.language_model."};
  const std::string embedding(architecture.embedding);
  const auto root = std::find_if(roots.begin(), roots.end(), [&](std::string_view candidate) {
    return checkpoint.has(std::string(candidate) + embedding);
  });
  if (root == roots.end()) {
    throw InputError("{}: tensor '{}' is missing; looked for it as {}{}",
                     checkpoint.folder().string(), embedding, fmt::join(roots, embedding + ", "),
                     embedding);
  }
  prefix_ = *root;
  check_shape(prefix_ + embedding, {config.embedding_rows, config.d_model});
  if (!architecture.position_embedding.empty()) {
    check_shape(prefix_ + std::string(architecture.position_embedding),
                {config.max_positions, config.d_model});
  }
  if (!architecture.embedding_norm.empty()) {
    const std::string norm = prefix_ + std::string(architecture.embedding_norm);
    embedding_norm_ = load_vector(norm + ".weight", TensorRole::norm);
    embedding_norm_bias_ = load_vector(norm + ".bias", TensorRole::bias);
  }
  refuse_more_layers(checkpoint, prefix_ + std::string(architecture.layers), config.n_layers);
  for (int64_t layer = 0; layer <= last_layer; ++layer) {
    for (const TensorSpec& spec : specs(layer)) {
      std::vector<int64_t> shape = spec.shape;
      if (spec.transposed) std::reverse(shape.begin(), shape.end());
      check_shape(layer_prefix(layer) + spec.name, shape);
    }
  }
}

std::string WeightReader::layer_prefix(int64_t layer) const {
  return fmt::format("{}{}{}.", prefix_, architecture_.layers, layer);
}

void WeightReader::check_shape(const std::string& name, const std::vector<int64_t>& shape) const {
  const TensorView view = checkpoint_.tensor(name);
  if (view.info->shape != shape) {
    throw InputError("{}: tensor '{}' has shape {}, expected {} from config.json",
                     view.shard->path().string(), name, format_shape(view.info->shape),
                     format_shape(shape));
  }
}

std::vector<TensorSpec> WeightReader::specs(int64_t layer) const {
  std::vector<TensorSpec> needed;
  if (!config_.layers[static_cast<size_t>(layer)].self_attention) return needed;
  for (TensorSpec& spec : architecture_.layer_tensors(config_)) {
    if (layer == last_layer_ && spec.after_qk) continue;
    if (spec.optional && !checkpoint_.has(layer_prefix(layer) + spec.name)) continue;
    needed.push_back(std::move(spec));
  }
  return needed;
}

int64_t WeightReader::layer_bytes(int64_t layer) const {
  int64_t elements = 0;
  for (const TensorSpec& spec : specs(layer)) {
    elements += rows_of(spec, layer == last_layer_) * row_elements(spec);
  }
  return elements * static_cast<int64_t>(c10::elementSize(dtype_));
}

LayerWeights WeightReader::load(int64_t layer) const {
  const c10::InferenceMode no_autograd;
  const bool only_qk = layer == last_layer_;
  const std::vector<TensorSpec> needed = specs(layer);
  LayerWeights weights;
  // A disk is asked for this layer and the next ones at once, or it waits between their parts.
  if (!random_) {
    for (int64_t ahead = layer; ahead <= std::min(layer + 1, last_layer_); ++ahead) {
      for (const TensorSpec& spec : specs(ahead)) {
        const TensorView view = checkpoint_.tensor(layer_prefix(ahead) + spec.name);
        view.shard->file().will_need(view.info->offset, view.info->bytes);
      }
    }
  }
  // On a GPU the host copy is pinned, so that it crosses the bus while the GPU computes.
  const auto options = at::TensorOptions().dtype(dtype_).pinned_memory(device_.is_cuda());
  for (const TensorSpec& spec : needed) {
    if ((weights.*spec.destination).defined()) continue;  // filled with its first part
    int64_t rows = 0;
    for (const TensorSpec& part : needed) {
      if (part.destination == spec.destination) rows += rows_of(part, only_qk);
    }
    std::vector<int64_t> shape = spec.shape;
    if (!shape.empty()) shape[0] = rows;
    at::Tensor whole = at::empty(shape, options);
    int64_t row = 0;
    for (const TensorSpec& part : needed) {
      if (part.destination != spec.destination) continue;
      const std::string name = layer_prefix(layer) + part.name;
      const TensorView view = checkpoint_.tensor(name);
      const int64_t count = rows_of(part, only_qk);
      const at::Tensor target = shape.empty() ? whole : whole.slice(0, row, row + count);
      row += count;
      at::Tensor source =
          random_ ? random_->tensor(role_of(part.destination), name, part.shape) : view_of(view);
      if (!random_) hash_tensor(checkpoint_, name, view);
      if (part.transposed && !random_) source = source.t();
      if (part.fused_heads > 0) source = split_fused(source, part.fused_heads, only_qk);
      if (part.qk_rows > 0) source = source.slice(0, 0, count);
      target.copy_(source);
      if (!random_) view.shard->file().require_unchanged();
      if (!device_.is_cuda()) view.shard->file().release(view.info->offset, view.info->bytes);
    }
    weights.*spec.destination =
        device_.is_cuda() ? whole.to(device_, /*non_blocking=*/true) : whole;
  }
  return weights;
}

at::Tensor WeightReader::embed(std::span<const int32_t> tokens) const {
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
  if (embedding_norm_.defined()) {
    hidden = layer_norm(hidden, embedding_norm_, embedding_norm_bias_, config_.norm_eps);
  }
  return hidden;
}

std::vector<std::string> WeightReader::embedding_names() const {
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

std::string WeightReader::digest() const {
  if (random_) return fmt::format("random:{}", random_->seed());
  std::vector<std::string> names = embedding_names();
  for (int64_t layer = 0; layer <= last_layer_; ++layer) {
    for (const TensorSpec& spec : specs(layer)) names.push_back(layer_prefix(layer) + spec.name);
  }
  return checkpoint_.digest(names);
}

void WeightReader::hash_embedding() const {
  if (!random_) checkpoint_.digest(embedding_names());
}

at::Tensor WeightReader::position_rows(int64_t tokens) const {
  if (tokens > config_.max_positions) {
    throw InputError("a document has {} tokens, but the model knows {} positions", tokens,
                     config_.max_positions);
  }
  if (random_) return random_->positions(tokens);
  const TensorView view =
      checkpoint_.tensor(prefix_ + std::string(architecture_.position_embedding));
  const at::Tensor rows = view_of(view).slice(0, 0, tokens).clone();
  view.shard->file().require_unchanged();
  return rows;
}

at::Tensor WeightReader::load_vector(const std::string& name, TensorRole role) const {
  const c10::InferenceMode no_autograd;
  check_shape(name, {config_.d_model});
  const TensorView view = checkpoint_.tensor(name);
  const at::Tensor values =
      random_ ? random_->tensor(role, name, {config_.d_model}) : view_of(view);
  const at::Tensor copied = at::empty({config_.d_model}, at::TensorOptions().dtype(dtype_));
  copied.copy_(values);
  return copied.to(device_);
}

at::Tensor WeightReader::stored_rows(std::span<const int32_t> tokens) const {
  const TensorView view = checkpoint_.tensor(embedding_names().front());
  const at::Tensor table = view_of(view);
  const at::Tensor wanted = at::from_blob(const_cast<int32_t*>(tokens.data()),
                                          {static_cast<int64_t>(tokens.size())}, at::kInt);
  at::Tensor rows = at::empty({wanted.size(0), config_.d_model},
                              table.options().pinned_memory(device_.is_cuda()));
  at::index_select_out(rows, table, 0, wanted);
  view.shard->file().require_unchanged();
  // The budget is the GPU's there, and the next document wants the same pages.
  if (!device_.is_cuda()) view.shard->file().release(view.info->offset, view.info->bytes);
  return rows;
}

}  // namespace ropewalk
