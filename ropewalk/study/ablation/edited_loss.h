#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ropewalk/kernels/torch.h"
#include "ropewalk/model/edit.h"
#include "ropewalk/model/head_outputs.h"
#include "ropewalk/study/capture/document_measurement.h"
#include "ropewalk/study/source/open_model.h"
#include "ropewalk/text/documents.h"

namespace ropewalk {

// The settings of a pass that measures the loss of some documents. The model must be opened with
// its head.
struct LossPass {
  const OpenModel& model;
  const WeightReader& weights;
  std::span<const Document> documents;
  std::string title = "ablate";  // title of the progress bar
};

// The loss of a pass without an edit.
struct UneditedLoss {
  at::Tensor loss;  // [documents, bins] float64: sums in nats (moments/collectors/loss_collector.h)
  std::shared_ptr<const HeadOutputs> outputs;  // null unless requested
};
UneditedLoss measure_unedited(const LossPass& pass, bool outputs);

// The loss of a pass with an edit.
struct EditedLoss {
  at::Tensor loss;  // [documents, bins] float64: sums in nats
  // [documents, bins] float64: sums of KL(unedited || edited) of the predicted distributions
  at::Tensor kl;
};

// The plan that measure_edits() follows. Throws UsageError where an edit is impossible
// (check_edit), or where a single edit does not fit into memory.
EditPlan plan_edits(const LossPass& pass, std::span<const Edit> edits);

// Calls `finished` with the index of an edit once its loss is known. These losses stay valid where
// a later edit fails or the user interrupts.
void measure_edits(const LossPass& pass, std::span<const Edit> edits,
                   const std::function<void(size_t edit, const EditedLoss&)>& finished);

}  // namespace ropewalk
