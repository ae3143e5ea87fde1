#include "ropewalk/model/head_outputs.h"

#include "ropewalk/base/error.h"
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
        "a head's mean output is taken from other documents than the one whose loss is measured; "
        "found none with more than {} tokens, expected at least 2 documents",
        kFirstEdited);
  }
  return ((of.all.outputs - own.outputs) / static_cast<double>(tokens)).to(at::kFloat);
}

}  // namespace ropewalk
