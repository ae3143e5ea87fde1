#include "ropewalk/model/weights.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>

#include "ropewalk/base/error.h"
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

// A model may be saved with or without its head, and a library may put it inside a larger one.
std::string find_prefix(const Checkpoint& checkpoint, const Architecture& architecture) {
  const std::array<std::string_view, 4> roots{architecture.root, "", "language_model.model.",
                                              "model.language_model."};
  const std::string embedding(architecture.embedding);
  const auto root = std::find_if(roots.begin(), roots.end(), [&](std::string_view candidate) {
    return checkpoint.has(std::string(candidate) + embedding);
  });
  if (root != roots.end()) return std::string(*root);
  throw InputError("{}: tensor '{}' is missing; looked for it as {}{}",
                   checkpoint.folder().string(), embedding, fmt::join(roots, embedding + ", "),
                   embedding);
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
      random_(random),
      prefix_(find_prefix(checkpoint, architecture)),
      embedding_(checkpoint, architecture, config, prefix_, dtype, device, random) {
  refuse_more_layers(checkpoint, prefix_ + std::string(architecture.layers), config.n_layers);
  if (extent.has_head()) head_ = head_specs(architecture, config, checkpoint, prefix_);
  for (int64_t stage = 0; stage <= extent.last_stage(); ++stage) {
    for (const TensorSpec& spec : all_specs(stage, extent.of(stage))) {
      require_shape(checkpoint, prefix_of(stage) + spec.name, stored_shape(spec));
    }
  }
}

std::string WeightReader::prefix_of(int64_t layer) const {
  if (layer > extent_.last_layer) return {};
  return fmt::format("{}{}{}.", prefix_, architecture_.layers, layer);
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
  if (name == embedding_.names().front()) {  // a tied head
    std::vector<int32_t> words(static_cast<size_t>(spec.shape[0]));
    std::iota(words.begin(), words.end(), 0);
    return random_->embedding(words);
  }
  // Each part of a stack is drawn by itself.
  const std::string key = spec.stacked > 0 ? fmt::format("{} {}", name, spec.stack_index) : name;
  return random_->tensor(role_of(spec.destination), key, spec.shape);
}

std::vector<std::string> WeightReader::names_of(int64_t stage,
                                                const std::vector<TensorSpec>& specs) const {
  std::vector<std::string> names;
  for (const TensorSpec& spec : specs) names.push_back(prefix_of(stage) + spec.name);
  return names;
}

std::vector<std::string> WeightReader::names(const Extent& part) const {
  if (random_) return {};
  std::vector<std::string> names = embedding_.names();
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
  const std::vector<std::string> table = embedding_.names();
  const auto tied = [&](const TensorSpec& spec) { return spec.name == table.front(); };
  if (random_ || std::any_of(head_.begin(), head_.end(), tied)) return;
  checkpoint_.digest(table);
}

}  // namespace ropewalk
