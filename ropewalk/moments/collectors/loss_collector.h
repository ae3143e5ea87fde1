#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "ropewalk/model/observer.h"
#include "ropewalk/moments/document_values.h"

namespace ropewalk {

struct Document;

inline constexpr const char* kLossName = "loss";  // name of a DocumentValues
inline constexpr int64_t kLossNumerics = 7;  // version of these numbers (Accumulator::numerics)
// Name of a DocumentValues: of pieces, their text's cluster.
inline constexpr const char* kClusterName = "cluster";

// Positions are divided into bins: 0 alone, then [2^i, 2^(i + 1)).
int64_t position_bin(int64_t position);
// The first position of a bin; the next bin's first position is its end.
int64_t bin_begin(int64_t bin);
// The number of bins for the tokens that predict another, in documents of up to `context` tokens.
int64_t loss_bins(int64_t context);

// The losses of next-token predictions, and the positions of the predicting tokens.
struct TokenLosses {
  int64_t begin = 0;         // position of the first token
  at::Tensor rows = {};      // their logits, [tokens, words]
  at::Tensor log_sums = {};  // log(sum(exp(row))), [tokens] float64
  at::Tensor losses = {};    // [tokens] float64, in nats
};
// The losses of a piece of logits, without the last token of a document, whose prediction has no
// target.
TokenLosses token_losses(const Logits& logits);

// Adds values of tokens to the sums of their bins, [bins] float64.
void add_to_bins(const at::Tensor& sums, int64_t begin, const at::Tensor& values);

// Throws InputError naming a document whose row of [documents, bins] is not finite.
void require_finite(const at::Tensor& values, std::span<const Document> documents);

// Sums the loss of the pass's next-token predictions, in nats: for every document one number per
// bin of the predicting token's position. It does not wait for logits on a GPU.
class LossCollector : public Observer {
 public:
  explicit LossCollector(int64_t context) : bins_(loss_bins(context)) {}

  bool wants_logits() const override { return true; }
  void on_logits(const Logits& logits) override;
  int64_t workspace(int64_t tokens, at::ScalarType dtype, const at::Device& device) const override;

  // [documents, bins] of these documents, which must have been read. Throws InputError naming a
  // document whose loss is not finite.
  DocumentValues values(std::span<const Document> documents) const;
  // Resumes from what values() returned for these documents.
  void restore(std::span<const Document> documents, const std::vector<DocumentValues>& values);

 private:
  int64_t bins_;
  std::map<int64_t, at::Tensor> sums_;  // by document index: [bins] float64
};

// For each document the cluster that it belongs to, where documents are pieces of texts.
DocumentValues cluster_values(std::span<const Document> documents);

}  // namespace ropewalk
