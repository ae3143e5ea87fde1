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

// What the loss of some documents is taken with. The model was opened with its head.
struct LossPass {
  const OpenModel& model;
  const WeightReader& weights;
  std::span<const Document> documents;
  std::string title = "ablate";  // of its progress
};

// Of a pass without an edit.
struct UneditedLoss {
  at::Tensor loss;  // [documents, bins] float64: sums in nats (moments/collectors/loss_collector.h)
  std::shared_ptr<const HeadOutputs> outputs;  // where they were asked for
};
UneditedLoss measure_unedited(const LossPass& pass, bool outputs);

// Of a pass with one.
struct EditedLoss {
  at::Tensor loss;  // [documents, bins] float64: sums in nats
  at::Tensor kl;    // likewise: KL(unedited || edited) of what each of these tokens predicts
};

// How measure_edits() goes about it. Throws UsageError where an edit cannot be done (check_edit) or
// the memory holds none.
EditPlan plan_edits(const LossPass& pass, std::span<const Edit> edits);

// Calls `finished` with the index of an edit once its loss is known. What it was called with stays
// true where a later edit fails or somebody interrupts.
void measure_edits(const LossPass& pass, std::span<const Edit> edits,
                   const std::function<void(size_t edit, const EditedLoss&)>& finished);

}  // namespace ropewalk
