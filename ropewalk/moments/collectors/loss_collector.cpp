#include "ropewalk/moments/collectors/loss_collector.h"

#include <algorithm>
#include <bit>

#include "ropewalk/base/error.h"
#include "ropewalk/kernels/attention/log_sum.h"
#include "ropewalk/text/documents.h"

namespace ropewalk {

int64_t position_bin(int64_t position) {
  return static_cast<int64_t>(std::bit_width(static_cast<uint64_t>(position)));
}

int64_t bin_begin(int64_t bin) { return bin == 0 ? 0 : int64_t{1} << (bin - 1); }

int64_t loss_bins(int64_t context) { return context < 2 ? 0 : position_bin(context - 2) + 1; }

TokenLosses token_losses(const Logits& logits) {
  const Document& document = *logits.document;
  const auto tokens = static_cast<int64_t>(document.tokens.size());
  const int64_t end = std::min(logits.begin + logits.rows.size(0), tokens - 1);
  TokenLosses made{.begin = logits.begin, .rows = logits.rows.slice(0, 0, end - logits.begin)};
  const std::vector<int64_t> next(document.tokens.begin() + logits.begin + 1,
                                  document.tokens.begin() + end + 1);
  const at::Tensor targets =
      at::tensor(next, at::kLong).to(made.rows.device(), /*non_blocking=*/true).unsqueeze(1);
  made.log_sums = log_sum_exp(made.rows);
  made.losses = made.log_sums - made.rows.gather(1, targets).squeeze(1).to(at::kDouble);
  return made;
}

void add_to_bins(const at::Tensor& sums, int64_t begin, const at::Tensor& values) {
  const int64_t end = begin + values.size(0);
  if (end <= begin) return;
  for (int64_t bin = position_bin(begin); bin <= position_bin(end - 1); ++bin) {
    const int64_t from = std::max(bin_begin(bin), begin);
    const int64_t to = std::min(bin_begin(bin + 1), end);
    sums[bin].add_(values.slice(0, from - begin, to - begin).sum());
  }
}

void require_finite(const at::Tensor& values, std::span<const Document> documents) {
  const at::Tensor finite = values.isfinite().all(1);
  for (size_t i = 0; i < documents.size(); ++i) {
    if (finite[static_cast<int64_t>(i)].item<bool>()) continue;
    throw InputError(
        "the loss of document {} is not finite: the checkpoint is damaged or overflows this dtype",
        documents[i].index);
  }
}

void LossCollector::on_logits(const Logits& logits) {
  at::Tensor& sums = sums_[logits.document->index];
  if (!sums.defined()) sums = at::zeros({bins_}, logits.rows.options().dtype(at::kDouble));
  const TokenLosses made = token_losses(logits);
  add_to_bins(sums, made.begin, made.losses);
}

int64_t LossCollector::workspace(int64_t, at::ScalarType, const at::Device& device) const {
  // Memory for torch's intermediate results between a piece of logits and its sum.
  constexpr int64_t kPiece = int64_t{64} << 20;
  return device.is_cuda() ? 2 * kPiece : 0;
}

DocumentValues LossCollector::values(std::span<const Document> documents) const {
  const at::Tensor values = at::zeros({static_cast<int64_t>(documents.size()), bins_}, at::kDouble);
  for (size_t i = 0; i < documents.size(); ++i) {
    values[static_cast<int64_t>(i)].copy_(sums_.at(documents[i].index));
  }
  require_finite(values, documents);
  return {kLossName, values};
}

void LossCollector::restore(std::span<const Document> documents,
                            const std::vector<DocumentValues>& values) {
  const auto loss = std::find_if(values.begin(), values.end(),
                                 [](const DocumentValues& one) { return one.name == kLossName; });
  for (size_t i = 0; i < documents.size(); ++i) {
    sums_[documents[i].index] = loss->values[static_cast<int64_t>(i)].clone();
  }
}

DocumentValues cluster_values(std::span<const Document> documents) {
  std::vector<double> clusters;
  for (const Document& document : documents) {
    clusters.push_back(static_cast<double>(document.cluster.value_or(document.index)));
  }
  return {kClusterName, at::tensor(clusters, at::kDouble)};
}

}  // namespace ropewalk
