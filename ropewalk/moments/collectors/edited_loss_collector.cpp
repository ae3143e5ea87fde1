#include "ropewalk/moments/collectors/edited_loss_collector.h"

#include "ropewalk/kernels/attention/divergence.h"
#include "ropewalk/text/documents.h"

namespace ropewalk {

void EditedLossCollector::on_logits(const Logits& logits) {
  TokenLosses made = token_losses(logits);
  made.rows = at::Tensor();  // they are shown again together with those of each edit
  unedited_[logits.document->index] = std::move(made);
}

void EditedLossCollector::on_edited_logits(const EditedLogits& logits) {
  const int64_t document = logits.logits.document->index;
  LossSums& sums = sums_[{logits.edit, document}];
  const auto numbers = logits.unedited.options().dtype(at::kDouble);
  if (!sums.loss.defined()) sums = {at::zeros({bins_}, numbers), at::zeros({bins_}, numbers)};
  const TokenLosses made = token_losses(logits.logits);
  const at::Tensor unedited = logits.unedited.slice(0, 0, made.rows.size(0));
  add_to_bins(sums.loss, made.begin, made.losses);
  add_to_bins(sums.kl, made.begin,
              divergence(unedited, unedited_.at(document).log_sums, made.rows, made.log_sums));
}

int64_t EditedLossCollector::workspace(int64_t, at::ScalarType, const at::Device& device) const {
  // Memory for torch's intermediate results between two pieces of logits and their sum.
  constexpr int64_t kPiece = int64_t{64} << 20;
  return device.is_cuda() ? 3 * kPiece : 0;
}

at::Tensor EditedLossCollector::values(at::Tensor LossSums::*of, size_t edit,
                                       std::span<const Document> documents) const {
  const at::Tensor values = at::zeros({static_cast<int64_t>(documents.size()), bins_}, at::kDouble);
  for (size_t i = 0; i < documents.size(); ++i) {
    values[static_cast<int64_t>(i)].copy_(sums_.at({edit, documents[i].index}).*of);
  }
  require_finite(values, documents);
  return values;
}

at::Tensor EditedLossCollector::loss(size_t edit, std::span<const Document> documents) const {
  return values(&LossSums::loss, edit, documents);
}

at::Tensor EditedLossCollector::kl(size_t edit, std::span<const Document> documents) const {
  return values(&LossSums::kl, edit, documents);
}

}  // namespace ropewalk
