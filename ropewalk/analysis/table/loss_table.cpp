#include "ropewalk/analysis/table/loss_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "ropewalk/analysis/table/qk_table.h"
#include "ropewalk/moments/collectors/loss_collector.h"
#include "ropewalk/moments/files/capture_moments.h"

namespace ropewalk {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
constexpr double kRounding = 1e-12;

const at::Tensor* find(const CaptureMoments& capture, const char* name) {
  for (const DocumentValues& one : capture.document_values) {
    if (one.name == name) return &one.values;
  }
  return nullptr;
}

// The number of a document's predictions in the bins first … last - 1.
int64_t predictions(const DocumentRecord& document, int64_t first, int64_t last) {
  const int64_t end = std::max<int64_t>(document.tokens - 1, 0);
  return std::max<int64_t>(0, std::min(end, bin_begin(last)) - bin_begin(first));
}

// Fills in the mean over the tokens of independent parts. Its error is that of a ratio of two sums,
// from the residuals; for parts of equal length this is the standard deviation over the root of
// their number.
void fill(LossRow& row, const std::map<int64_t, LossPart>& parts) {
  double loss = 0;
  for (const auto& [key, part] : parts) {
    loss += part.loss;
    row.tokens += part.tokens;
  }
  row.groups = static_cast<int64_t>(parts.size());
  row.loss = row.tokens > 0 ? loss / static_cast<double>(row.tokens) : kMissing;
  row.se = kMissing;
  if (row.groups < 2) return;
  double squares = 0;
  for (const auto& [key, part] : parts) {
    const double residual = part.loss - row.loss * static_cast<double>(part.tokens);
    squares += residual * residual;
  }
  const auto groups = static_cast<double>(row.groups);
  row.se = std::sqrt(groups / (groups - 1) * squares) / static_cast<double>(row.tokens);
  // Where all documents begin alike, losses differ by rounding only, which is not an error
  // estimate.
  if (row.se <= kRounding * row.loss) row.se = kMissing;
}

// The loss in the bins first … last - 1, with the parts from which it was computed.
std::pair<LossRow, std::vector<LossPart>> row_of(const CaptureMoments& capture,
                                                 const at::Tensor& loss, const at::Tensor* clusters,
                                                 int64_t first, int64_t last) {
  LossRow row;
  row.begin = bin_begin(first);
  row.end = bin_begin(last);
  std::map<int64_t, LossPart> parts;
  const at::Tensor sums = loss.slice(1, first, last).sum(1);  // [documents]
  for (size_t i = 0; i < capture.documents.size(); ++i) {
    const int64_t tokens = predictions(capture.documents[i], first, last);
    if (tokens == 0) continue;
    ++row.documents;
    const auto document = static_cast<int64_t>(i);
    const int64_t key = clusters == nullptr
                            ? capture.documents[i].index
                            : static_cast<int64_t>((*clusters)[document].item<double>());
    LossPart& part = parts[key];
    part.key = key;
    part.loss += sums[document].item<double>();
    part.tokens += tokens;
  }
  fill(row, parts);
  std::vector<LossPart> list;
  for (const auto& [key, part] : parts) list.push_back(part);
  return {row, std::move(list)};
}

std::string flags_of(const CheckpointLoss& checkpoint, const LossRow& row) {
  constexpr int64_t kFew = 8;  // the same limit as for the blocks of a capture
  std::string flags;
  const auto add = [&](const char* flag) {
    flags += (flags.empty() ? "" : ";") + std::string(flag);
  };
  if (checkpoint.random) add(kRandomWeights);
  if (std::isnan(row.se)) add("no_se");
  if (row.groups < kFew) add("few_documents");
  return flags;
}

}  // namespace

CheckpointLoss checkpoint_loss(const CaptureMoments& capture) {
  CheckpointLoss made;
  made.model = capture.info.model;
  made.label = capture.info.label;
  made.random = capture.info.random.has_value();
  const at::Tensor* loss = find(capture, kLossName);
  if (loss == nullptr || loss->dim() != 2) return made;
  const at::Tensor* clusters = find(capture, kClusterName);
  const int64_t bins = loss->size(1);
  auto [all, parts] = row_of(capture, *loss, clusters, 0, bins);
  all.end = 0;
  made.rows.push_back(all);
  made.parts = std::move(parts);
  for (int64_t bin = 0; bin < bins; ++bin) {
    const LossRow row = row_of(capture, *loss, clusters, bin, bin + 1).first;
    if (row.tokens > 0) made.rows.push_back(row);
  }
  return made;
}

std::vector<CheckpointLoss> losses_of(const std::vector<CheckpointTable>& checkpoints) {
  std::vector<CheckpointLoss> losses;
  for (const CheckpointTable& one : checkpoints) {
    if (one.loss.empty()) continue;
    losses.push_back({one.model, one.label, one.phase, one.order, one.random, one.loss, {}});
  }
  return losses;
}

std::string format_loss_table(const std::vector<CheckpointLoss>& checkpoints) {
  std::string text =
      "model,checkpoint,phase,order,position,position_end,loss,loss_se,documents,tokens,flag\n";
  for (const CheckpointLoss& checkpoint : checkpoints) {
    for (const LossRow& row : checkpoint.rows) {
      const std::string positions = row.end == 0 ? "," : fmt::format("{},{}", row.begin, row.end);
      text += fmt::format("{},{},{},{},{},{},{},{},{},{}\n", csv_name(checkpoint.model),
                          csv_name(checkpoint.label), csv_name(checkpoint.phase), checkpoint.order,
                          positions, table_number(row.loss), table_number(row.se), row.documents,
                          row.tokens, flags_of(checkpoint, row));
    }
  }
  return text;
}

std::string format_loss_documents(const CaptureMoments& capture) {
  std::string text = "model,checkpoint,document,digest,tokens,loss\n";
  const at::Tensor* loss = find(capture, kLossName);
  if (loss == nullptr || loss->dim() != 2) return text;
  const at::Tensor sums = loss->sum(1);
  for (size_t i = 0; i < capture.documents.size(); ++i) {
    const DocumentRecord& document = capture.documents[i];
    const int64_t tokens = predictions(document, 0, loss->size(1));
    const double sum = sums[static_cast<int64_t>(i)].item<double>();
    text += fmt::format("{},{},{},{:016x},{},{}\n", csv_name(capture.info.model),
                        csv_name(capture.info.label), document.index, document.digest, tokens,
                        tokens > 0 ? table_number(sum / static_cast<double>(tokens)) : "");
  }
  return text;
}

}  // namespace ropewalk
