#include "ropewalk/study/ablation/edited_loss.h"

#include <optional>
#include <set>

#include "ropewalk/moments/collectors/edited_loss_collector.h"
#include "ropewalk/moments/collectors/loss_collector.h"

namespace ropewalk {
namespace {

class OutputCollector : public Observer {
 public:
  explicit OutputCollector(HeadOutputs& outputs) : outputs_(outputs) {}
  bool wants_outputs() const override { return true; }
  void on_outputs(const TappedOutputs& outputs) override {
    outputs_.add(outputs.document->index, outputs.layer, outputs.rows);
  }

 private:
  HeadOutputs& outputs_;
};

DocumentMeasurement measurement_of(const LossPass& pass) {
  return DocumentMeasurement({pass.model, pass.weights, pass.documents, pass.title});
}

// The bytes of the memory budget that mean outputs of edits take. On a GPU the budget is the GPU's
// memory, where they are not.
int64_t mean_output_bytes(const LossPass& pass, std::span<const Edit> edits) {
  std::set<const HeadOutputs*> held;
  for (const Edit& edit : edits) {
    const auto* output = std::get_if<OutputEdit>(&edit.what);
    if (output != nullptr && output->outputs) held.insert(output->outputs.get());
  }
  int64_t bytes = 0;
  for (const HeadOutputs* outputs : held) bytes += outputs->bytes();
  return pass.weights.device().is_cpu() ? bytes : 0;
}

// The bytes that the collectors of a round take.
int64_t collector_bytes(const LossPass& pass) {
  const int64_t tokens = pass.model.context;
  return EditedLossCollector(tokens).workspace(tokens, pass.weights.dtype(), pass.weights.device());
}

}  // namespace

UneditedLoss measure_unedited(const LossPass& pass, bool outputs) {
  LossCollector loss(pass.model.context);
  const auto kept = std::make_shared<HeadOutputs>();
  OutputCollector collector(*kept);
  DocumentMeasurement measurement = measurement_of(pass);
  measurement.collect(loss);
  if (outputs) {
    measurement.collect(collector);
    const auto documents = static_cast<int64_t>(pass.documents.size());
    const bool on_cpu = pass.weights.device().is_cpu();
    measurement.reserve(on_cpu ? HeadOutputs::bytes_of(pass.model.text.config, documents) : 0);
  }
  measurement.run();
  return {loss.values(pass.documents).values, outputs ? kept : nullptr};
}

EditPlan plan_edits(const LossPass& pass, std::span<const Edit> edits) {
  DocumentMeasurement measurement = measurement_of(pass);
  measurement.reserve(mean_output_bytes(pass, edits));
  return measurement.plan_rounds(edits, collector_bytes(pass));
}

void measure_edits(const LossPass& pass, std::span<const Edit> edits,
                   const std::function<void(size_t edit, const EditedLoss&)>& finished) {
  DocumentMeasurement measurement = measurement_of(pass);
  measurement.reserve(mean_output_bytes(pass, edits));
  std::optional<EditedLossCollector> collector;
  measurement.run_rounds(
      edits, measurement.plan_rounds(edits, collector_bytes(pass)),
      [&]() -> Observer& { return collector.emplace(pass.model.context); },
      [&](const std::vector<size_t>& round) {
        for (size_t i = 0; i < round.size(); ++i) {
          finished(round[i],
                   {collector->loss(i, pass.documents), collector->kl(i, pass.documents)});
        }
      });
}

}  // namespace ropewalk
