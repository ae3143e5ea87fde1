#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "ropewalk/kernels/torch.h"

namespace ropewalk {

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
// With fewer controls nothing is called real.
inline constexpr int64_t kEnoughControls = 20;

// The documents that losses were taken on.
struct LossDocuments {
  std::vector<int64_t> groups;  // of each document, what it is independent by: itself or its text
  std::vector<int64_t> tokens;  // of each document

  int64_t count() const { return static_cast<int64_t>(groups.size()); }
};

// Sums over each document's tokens by bins of position: [documents, bins] float64, in nats.
struct EditSums {
  at::Tensor loss;
  at::Tensor kl;  // undefined: of the unedited pass

  bool known() const { return loss.defined(); }
};

// A set of heads under one edit, and beside it what it is held against.
struct EditComparison {
  EditSums edited;
  EditSums removed;  // with the outputs of these heads replaced by their means; may be unknown
  std::vector<EditSums> controls;          // the same edit of each control set
  std::vector<EditSums> controls_removed;  // of the same sets; empty: unknown
};

// Nats per token, and what is said about them (docs/method.md). NaN: unknown.
struct EditEffect {
  int64_t begin = 0;  // of positions; with `end` 0: of all
  int64_t end = 0;
  int64_t tokens = 0;
  int64_t groups = 0;      // documents, or texts, that are independent
  double loss = kUnknown;  // unedited
  double dloss = kUnknown;
  double dloss_se = kUnknown;
  double kl = kUnknown;
  double kl_se = kUnknown;
  double control = kUnknown;  // mean of the controls' dloss
  double control_sd = kUnknown;
  int64_t controls = 0;
  double p = kUnknown;
  double z_control = kUnknown;
  double p_t = kUnknown;
  double q = kUnknown;       // false discovery rate over the sets of an edit, of p_t
  std::optional<bool> real;  // nothing: too few controls or documents to say
  bool below_controls = false;
  double removal = kUnknown;
  double removal_se = kUnknown;
  double of_removal = kUnknown;
  double of_removal_se = kUnknown;
  bool small_removal = false;
  double of_removal_control = kUnknown;  // of all control sets together
  double of_removal_low = kUnknown;      // of the single ones whose removal is not small
  double of_removal_high = kUnknown;
};

// Of all positions first, then of each bin that the documents reach.
std::vector<EditEffect> measure_effect(const LossDocuments& documents, const EditSums& unedited,
                                       const EditComparison& edited);

// What one set of heads changes, over all positions: dloss and kl, with their errors alone.
EditEffect measure_change(const LossDocuments& documents, const EditSums& unedited,
                          const EditSums& edited);

}  // namespace ropewalk
