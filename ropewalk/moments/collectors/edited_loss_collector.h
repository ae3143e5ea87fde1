#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>

#include "ropewalk/model/observer.h"
#include "ropewalk/moments/collectors/loss_collector.h"

namespace ropewalk {

// Sums the loss of next-token predictions in the passes of edits, and their distance from those
// without an edit, KL(unedited || edited), both in nats: for every edit and document one number per
// bin of position (loss_collector.h).
class EditedLossCollector : public Observer {
 public:
  explicit EditedLossCollector(int64_t context) : bins_(loss_bins(context)) {}

  bool wants_logits() const override { return true; }
  void on_logits(const Logits& logits) override;
  void on_edited_logits(const EditedLogits& logits) override;
  int64_t workspace(int64_t tokens, at::ScalarType dtype, const at::Device& device) const override;

  // [documents, bins] float64 of an edit, for documents that were read. Throw InputError naming a
  // document whose numbers are not finite.
  at::Tensor loss(size_t edit, std::span<const Document> documents) const;
  at::Tensor kl(size_t edit, std::span<const Document> documents) const;

 private:
  struct LossSums {
    at::Tensor loss;  // [bins] float64
    at::Tensor kl;
  };
  at::Tensor values(at::Tensor LossSums::*of, size_t edit,
                    std::span<const Document> documents) const;

  int64_t bins_;
  std::map<std::pair<size_t, int64_t>, LossSums> sums_;  // by edit and document index
  // Losses of the latest piece of unedited logits of each document.
  std::map<int64_t, TokenLosses> unedited_;
};

}  // namespace ropewalk
