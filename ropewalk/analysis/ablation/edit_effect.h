#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "ropewalk/kernels/torch.h"

namespace ropewalk {

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
// With fewer controls than this, no effect is called real.
inline constexpr int64_t kEnoughControls = 20;

// The documents on which losses were measured.
struct LossDocuments {
  // per document: the unit of independence, which is the document or its text
  std::vector<int64_t> groups;
  std::vector<int64_t> tokens;  // per document

  int64_t count() const { return static_cast<int64_t>(groups.size()); }
};

// Sums over each document's tokens by bins of position: [documents, bins] float64, in nats.
struct EditSums {
  at::Tensor loss;
  at::Tensor kl;  // KL divergence from the unedited pass; undefined for the unedited pass itself

  bool known() const { return loss.defined(); }
};

// The loss sums of one set of heads under one edit, and the sums that they are compared with.
struct EditComparison {
  EditSums edited;
  EditSums removed;  // with the outputs of these heads replaced by their means; may be undefined
  std::vector<EditSums> controls;          // the same edit on each control set
  std::vector<EditSums> controls_removed;  // removal of each control set; empty: unknown
};

// The effect of an edit in nats per token, and the tests on it (docs/method.md). NaN: unknown.
struct EditEffect {
  int64_t begin = 0;  // positions begin … end - 1; with `end` 0: all positions
  int64_t end = 0;
  int64_t tokens = 0;
  int64_t groups = 0;      // independent documents or texts
  double loss = kUnknown;  // of the unedited model
  double dloss = kUnknown;
  double dloss_se = kUnknown;
  double kl = kUnknown;
  double kl_se = kUnknown;
  double control = kUnknown;  // mean dloss of the controls
  double control_sd = kUnknown;
  int64_t controls = 0;
  double p = kUnknown;
  double z_control = kUnknown;
  double p_t = kUnknown;
  // false discovery rate that belongs to p_t, over all sets with the same edit
  double q = kUnknown;
  std::optional<bool> real;  // empty: too few controls or documents to decide
  bool below_controls = false;
  double removal = kUnknown;
  double removal_se = kUnknown;
  double of_removal = kUnknown;
  double of_removal_se = kUnknown;
  bool small_removal = false;
  double of_removal_control = kUnknown;  // for all control sets together
  // lowest among the control sets whose removal has a clear effect
  double of_removal_low = kUnknown;
  double of_removal_high = kUnknown;
};

// The effect over all positions first, then in each bin that the documents reach.
std::vector<EditEffect> measure_effect(const LossDocuments& documents, const EditSums& unedited,
                                       const EditComparison& edited);

// The effect of one set of heads over all positions: only dloss and kl, with their errors.
EditEffect measure_change(const LossDocuments& documents, const EditSums& unedited,
                          const EditSums& edited);

}  // namespace ropewalk
