#include "ropewalk/model/weights.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <numeric>

#include "ropewalk/base/error.h"
#include "ropewalk/kernels/products/elementwise.h"
#include "ropewalk/model/architecture.h"
#include "ropewalk/model/head.h"
#include "ropewalk/model/stored_tensor.h"

namespace ropewalk {
namespace {

// Refuses weights of layers that the config does not know: they belong to another model, and every
// layer's relative depth would be wrong.
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
                           const ModelConfig& config, const Extent& extent, at::ScalarType dtype,
                           at::Device device, const std::optional<RandomWeights>& random)
    : checkpoint_(checkpoint),
      architecture_(architecture),
      config_(config),
      extent_(extent),
      dtype_(dtype),
      device_(device),
      random_(random) {
  // A model may be saved with or without its head, and a library may put it inside a larger one.
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
  if (extent.has_head()) head_ = head_specs(architecture, config, checkpoint, prefix_);
  for (int64_t stage = 0; stage <= extent.last_stage(); ++stage) {
    for (const TensorSpec& spec : all_specs(stage, extent.of(stage))) {
      check_shape(prefix_of(stage) + spec.name, stored_shape(spec));
    }
  }
}

std::string WeightReader::prefix_of(int64_t layer) const {
  if (layer > extent_.last_layer) return {};
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

std::vector<TensorSpec> WeightReader::specs(int64_t stage, Needed needed) const {
  if (needed == Needed::head) return head_;
  std::vector<TensorSpec> specs = layer_specs(architecture_, config_, stage, needed);
  std::erase_if(specs, [&](const TensorSpec& spec) {
    return spec.optional && !checkpoint_.has(prefix_of(stage) + spec.name);
  });
  return specs;
}

int64_t WeightReader::experts(int64_t layer) const {
  return layer > extent_.last_layer ? 0 : experts_of(config_, layer, extent_.of(layer));
}

std::vector<TensorSpec> WeightReader::all_specs(int64_t stage, Needed needed) const {
  std::vector<TensorSpec> all = specs(stage, needed);
  if (needed == Needed::head) return all;
  for (int64_t expert = 0; expert < experts_of(config_, stage, needed); ++expert) {
    for (TensorSpec& spec : architecture_.expert_tensors(config_, expert)) {
      if (spec.stack_index == 0) all.push_back(std::move(spec));  // each stack once
    }
  }
  return all;
}

int64_t WeightReader::bytes_of(const std::vector<TensorSpec>& specs, Needed needed) const {
  int64_t elements = 0;
  for (const TensorSpec& spec : specs) elements += rows_of(spec, needed) * row_elements(spec);
  return elements * element_size();
}

int64_t WeightReader::layer_bytes(int64_t layer) const {
  return bytes_of(specs(layer), extent_.of(layer)) + experts(layer) * expert_bytes(layer);
}

int64_t WeightReader::expert_bytes(int64_t layer) const {
  return experts(layer) == 0 ? 0
                             : bytes_of(architecture_.expert_tensors(config_, 0), Needed::layer);
}

LayerWeights WeightReader::load(int64_t layer, bool with_experts) const {
  // Requests this layer and the next ones from the disk at once, so that it does not wait between
  // their parts.
  if (!random_) {
    for (int64_t ahead = layer; ahead <= std::min(layer + 1, extent_.last_stage()); ++ahead) {
      for (const TensorSpec& spec :
           with_experts ? all_specs(ahead, extent_.of(ahead)) : specs(ahead)) {
        const TensorView view = checkpoint_.tensor(prefix_of(ahead) + spec.name);
        view.shard->file().will_need(view.info->offset, view.info->bytes);
      }
    }
    checkpoint_.read(
        names_of(layer, with_experts ? all_specs(layer, extent_.of(layer)) : specs(layer)));
  }
  LayerWeights weights = read(layer, specs(layer));
  for (int64_t expert = 0; with_experts && expert < experts(layer); ++expert) {
    weights.experts.push_back(load_expert(layer, expert));
  }
  return weights;
}

LayerWeights WeightReader::load_expert(int64_t layer, int64_t expert) const {
  const std::vector<TensorSpec> needed = architecture_.expert_tensors(config_, expert);
  if (!random_) checkpoint_.read(names_of(layer, needed));
  return read(layer, needed);
}

LayerWeights WeightReader::read(int64_t layer, const std::vector<TensorSpec>& specs) const {
  const c10::InferenceMode no_autograd;
  const Needed needed = extent_.of(layer);
  LayerWeights weights;
  // On a GPU the host copy is pinned, so that the transfer runs while the GPU computes.
  const auto options = at::TensorOptions().dtype(dtype_).pinned_memory(device_.is_cuda());
  for (const TensorSpec& spec : specs) {
    if ((weights.*spec.destination).defined()) continue;  // filled together with its first part
    int64_t rows = 0;
    for (const TensorSpec& part : specs) {
      if (part.destination == spec.destination) rows += rows_of(part, needed);
    }
    std::vector<int64_t> shape = spec.shape;
    if (!shape.empty()) shape[0] = rows;
    at::Tensor whole = at::empty(shape, options);
    int64_t row = 0;
    for (const TensorSpec& part : specs) {
      if (part.destination != spec.destination) continue;
      const int64_t count = rows_of(part, needed);
      const at::Tensor target = shape.empty() ? whole : whole.slice(0, row, row + count);
      row += count;
      copy_tensor(target, prefix_of(layer) + part.name, part, needed);
    }
    weights.*spec.destination =
        device_.is_cuda() ? whole.to(device_, /*non_blocking=*/true) : whole;
  }
  return weights;
}

void WeightReader::copy_tensor(const at::Tensor& target, const std::string& name,
                               const TensorSpec& spec, Needed needed) const {
  if (random_) {
    const at::Tensor rows = ordered_rows(spec, random_tensor(name, spec), needed);
    target.view(rows.sizes()).copy_(rows);
    return;
  }
  const TensorView view = checkpoint_.tensor(name);
  // Only one part of a stack is read here.
  if (spec.stacked == 0) hash_tensor(checkpoint_, name, view);
  const at::Tensor rows = wanted_rows(spec, view_of(view), needed);
  target.view(rows.sizes()).copy_(rows);
  view.shard->file().require_unchanged();
  if (!device_.is_cuda()) view.shard->file().release(view.info->offset, view.info->bytes);
}

at::Tensor WeightReader::random_tensor(const std::string& name, const TensorSpec& spec) const {
  if (name == embedding_names().front()) {  // a tied head
    std::vector<int32_t> words(static_cast<size_t>(spec.shape[0]));
    std::iota(words.begin(), words.end(), 0);
    return random_->embedding(words);
  }
  // Each part of a stack is drawn by itself.
  const std::string key = spec.stacked > 0 ? fmt::format("{} {}", name, spec.stack_index) : name;
  return random_->tensor(role_of(spec.destination), key, spec.shape);
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

std::vector<std::string> WeightReader::names_of(int64_t stage,
                                                const std::vector<TensorSpec>& specs) const {
  std::vector<std::string> names;
  for (const TensorSpec& spec : specs) names.push_back(prefix_of(stage) + spec.name);
  return names;
}

std::vector<std::string> WeightReader::names(const Extent& part) const {
  if (random_) return {};
  std::vector<std::string> names = embedding_names();
  for (int64_t stage = 0; stage <= part.last_stage(); ++stage) {
    const std::vector<std::string> more = names_of(stage, all_specs(stage, part.of(stage)));
    names.insert(names.end(), more.begin(), more.end());
  }
  return names;
}

std::string WeightReader::digest(const Extent& part) const {
  return random_ ? fmt::format("random:{}", random_->seed()) : checkpoint_.digest(names(part));
}

std::string WeightReader::digest_beyond(const Extent& part) const {
  std::vector<std::string> rest = names(extent_);
  const std::vector<std::string> read = names(part);
  std::erase_if(rest, [&](const std::string& name) {
    return std::find(read.begin(), read.end(), name) != read.end();
  });
  return random_ ? fmt::format("random:{}", random_->seed()) : checkpoint_.digest(rest);
}

void WeightReader::hash_embedding() const {
  // A head that is the same table is hashed when it is loaded.
  const std::vector<std::string> table = embedding_names();
  const auto tied = [&](const TensorSpec& spec) { return spec.name == table.front(); };
  if (random_ || std::any_of(head_.begin(), head_.end(), tied)) return;
  checkpoint_.digest(table);
}

at::Tensor WeightReader::position_rows(int64_t tokens) const {
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
  const std::string name = embedding_names().front();
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
