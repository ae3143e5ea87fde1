#include "ropewalk/model/head_outputs.h"

#include <algorithm>

#include "ropewalk/base/error.h"
#include "ropewalk/model/config/config.h"
#include "ropewalk/model/edit.h"

namespace ropewalk {

void HeadOutputs::add(int64_t document, int64_t layer, const at::Tensor& rows) {
  const at::Tensor late = rows.slice(0, std::min(kFirstEdited, rows.size(0)));
  const Sum sum{late.sum(0, /*keepdim=*/false, at::kDouble).cpu(), late.size(0)};
  Layer& of = layers_[layer];
  of.documents[document] = sum;
  of.all.outputs = of.all.outputs.defined() ? of.all.outputs + sum.outputs : sum.outputs;
  of.all.tokens += sum.tokens;
}

at::Tensor HeadOutputs::mean(int64_t document, int64_t layer) const {
  const Sum& sum = layers_.at(layer).documents.at(document);
  return sum.outputs / static_cast<double>(sum.tokens);
}

at::Tensor HeadOutputs::mean_of_others(int64_t document, int64_t layer) const {
  const Layer& of = layers_.at(layer);
  const Sum& own = of.documents.at(document);
  const int64_t tokens = of.all.tokens - own.tokens;
  if (tokens == 0) {
    throw UsageError(
        "the mean output of a head needs other documents than the one whose loss is measured: "
        "found none with more than {} tokens, expected at least 2 documents",
        kFirstEdited);
  }
  return ((of.all.outputs - own.outputs) / static_cast<double>(tokens)).to(at::kFloat);
}

int64_t HeadOutputs::bytes() const {
  int64_t bytes = 0;
  for (const auto& [layer, of] : layers_) {
    const auto sums = static_cast<int64_t>(of.documents.size()) + 1;
    bytes += sums * static_cast<int64_t>(of.all.outputs.nbytes());
  }
  return bytes;
}

int64_t HeadOutputs::bytes_of(const ModelConfig& config, int64_t documents) {
  const auto layers = std::count_if(config.layers.begin(), config.layers.end(),
                                    [](const LayerConfig& layer) { return layer.self_attention; });
  return layers * (documents + 1) * config.q_width() * static_cast<int64_t>(sizeof(double));
}

}  // namespace ropewalk
