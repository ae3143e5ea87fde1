#include "ropewalk/model/head.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "ropewalk/base/error.h"
#include "ropewalk/checkpoint/checkpoint.h"
#include "ropewalk/kernels/products/linear.h"
#include "ropewalk/model/layer_parts.h"

namespace ropewalk {
namespace {

// A head in the file is used, whatever the config says; otherwise the embedding table, where the
// config ties the two.
TensorSpec head_spec(const Architecture& architecture, const ModelConfig& config,
                     const Checkpoint& checkpoint, const std::string& embedding) {
  const std::array<std::string, 3> names{std::string(architecture.head), "lm_head.weight",
                                         "language_model.lm_head.weight"};
  const auto found = std::find_if(names.begin(), names.end(),
                                  [&](const std::string& name) { return checkpoint.has(name); });
  if (found != names.end()) {
    return {*found, {config.vocabulary_size, config.d_model}, &LayerWeights::head, Needed::head};
  }
  if (!config.head.tied.value_or(architecture.tied_head)) {
    throw InputError(
        "{}: has no head, and config.json does not tie it to the embeddings; looked for it as {}; "
        "expected weights saved from a model with a head (...ForCausalLM)",
        checkpoint.folder().string(),
        fmt::join(names.begin() + (names[0] == names[1]), names.end(), ", "));
  }
  return {embedding, {config.embedding_rows, config.d_model}, &LayerWeights::head, Needed::head};
}

}  // namespace

std::vector<TensorSpec> head_specs(const Architecture& architecture, const ModelConfig& config,
                                   const Checkpoint& checkpoint, const std::string& root) {
  std::vector<TensorSpec> specs;
  const std::string norm = root + std::string(architecture.final_norm);
  if (config.norm != NormKind::bare_layer) {
    specs.push_back({norm + ".weight", {config.d_model}, &LayerWeights::final_norm, Needed::head});
  }
  if (config.norm == NormKind::layer) {
    specs.push_back(
        {norm + ".bias", {config.d_model}, &LayerWeights::final_norm_bias, Needed::head});
  }
  const std::string embedding = root + std::string(architecture.embedding);
  specs.push_back(head_spec(architecture, config, checkpoint, embedding));
  return specs;
}

at::Tensor logits(const ModelConfig& config, const LayerWeights& head, const at::Tensor& hidden) {
  const at::Tensor input = norm(config, hidden, head.final_norm, head.final_norm_bias);
  at::Tensor made = linear(input, head.head, at::Tensor()).to(at::kFloat);
  if (config.head.scale != 1) made.mul_(config.head.scale);
  if (config.head.cap) made.div_(*config.head.cap).tanh_().mul_(*config.head.cap);
  return made;
}

int64_t logit_rows(const ModelConfig& config) {
  constexpr int64_t kNumbers = int64_t{16} << 20;  // 64 MiB
  constexpr int64_t kTile = 96;  // rows that our product takes together (linear.cpp)
  constexpr int64_t kMost = 4096;
  const int64_t rows = kNumbers / config.embedding_rows;
  if (rows < kTile) return std::max<int64_t>(rows, 16);
  return std::min(rows / kTile * kTile, kMost);
}

int64_t logits_workspace(const ModelConfig& config, at::ScalarType dtype) {
  // Logits in the type of the product, and their copy in float32.
  const auto product = dtype == at::kFloat ? 0 : static_cast<int64_t>(c10::elementSize(dtype));
  const auto wide = static_cast<int64_t>(sizeof(float));
  return logit_rows(config) * (config.embedding_rows * (product + wide) + config.d_model * wide);
}

}  // namespace ropewalk
