#include "ropewalk/study/ablation/edited_loss.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "ropewalk/base/progress.h"
#include "ropewalk/model/forward.h"
#include "ropewalk/moments/collectors/edited_loss_collector.h"
#include "ropewalk/moments/collectors/loss_collector.h"

namespace ropewalk {
namespace {

// Edits of one round: more would save little of the pass that they share, and a round that somebody
// interrupts is lost.
constexpr size_t kMostAtOnce = 16;

class OutputCollector : public Observer {
 public:
  explicit OutputCollector(HeadOutputs& outputs) : outputs_(outputs) {}
  bool wants_outputs() const override { return true; }
  void on_outputs(const Outputs& outputs) override {
    outputs_.add(outputs.document->index, outputs.layer, outputs.rows);
  }

 private:
  HeadOutputs& outputs_;
};

int64_t longest(std::span<const Document> documents) {
  size_t tokens = 0;
  for (const Document& document : documents) tokens = std::max(tokens, document.tokens.size());
  return static_cast<int64_t>(tokens);
}

int64_t all_tokens(std::span<const Document> documents) {
  return std::accumulate(documents.begin(), documents.end(), int64_t{0},
                         [](int64_t sum, const Document& document) {
                           return sum + static_cast<int64_t>(document.tokens.size());
                         });
}

// Stages of a pass that an edit has of its own.
int64_t own_stages(const LossPass& pass, const Edit& edit) {
  const auto first = first_edited_layer(pass.model.text.config, edit, longest(pass.documents));
  return first ? pass.weights.extent().last_stage() + 1 - *first : 0;
}

// Of the budget, what mean outputs take that edits hold. A GPU's is its own memory.
int64_t held_by(const LossPass& pass, std::span<const Edit> edits) {
  std::set<const HeadOutputs*> held;
  for (const Edit& edit : edits) {
    const auto* output = std::get_if<OutputEdit>(&edit.what);
    if (output != nullptr && output->outputs) held.insert(output->outputs.get());
  }
  int64_t bytes = 0;
  for (const HeadOutputs* outputs : held) bytes += outputs->bytes();
  return pass.weights.device().is_cpu() ? bytes : 0;
}

// How many edits a round may have, of which all need as much room as the one that needs most.
size_t edits_at_once(const LossPass& pass, std::span<const Edit> edits) {
  const ModelConfig& config = pass.model.text.config;
  const int64_t tokens = longest(pass.documents);
  const WeightReader& weights = pass.weights;
  const EditedLossCollector loss(tokens);
  const int64_t collecting = loss.workspace(tokens, weights.dtype(), weights.device());
  const int64_t hidden = tokens * bytes_per_token(config, weights.element_size());
  const int64_t reserved = held_by(pass, edits);
  size_t at_once = std::min(edits.size(), kMostAtOnce);
  for (const Edit& edit : edits) {
    MemoryNeeds needs = memory_needs(config, weights, tokens, collecting, {&edit, 1});
    needs.reserved = reserved;
    const MemoryPlan plan = plan_memory(needs, pass.model.memory);
    at_once = std::min(at_once, static_cast<size_t>(plan.hidden_budget / hidden - 1));
  }
  return at_once;
}

// Runs the documents through the model. `reserved` bytes of the budget are taken.
void run(const LossPass& pass, std::span<Observer* const> observers, std::span<const Edit> edits,
         int64_t reserved, Progress& progress) {
  ForwardOptions options;
  options.memory = pass.model.memory;
  options.reserved = reserved;
  options.edits = edits;
  options.progress = [&](int64_t stage, int64_t tokens) {
    progress.note(pass.model.stage_name(stage));
    progress.advance(tokens);
  };
  run_forward(pass.model.text.config, pass.weights, pass.documents, observers, options);
}

}  // namespace

UneditedLoss measure_unedited(const LossPass& pass, bool outputs) {
  LossCollector loss(pass.model.context);
  const auto kept = std::make_shared<HeadOutputs>();
  OutputCollector collector(*kept);
  std::vector<Observer*> observers{&loss};
  if (outputs) observers.push_back(&collector);
  const int64_t stages = pass.weights.extent().last_stage() + 1;
  Progress progress(pass.title, "token-layers", all_tokens(pass.documents) * stages);
  int64_t reserved = 0;
  if (outputs && pass.weights.device().is_cpu()) {
    reserved =
        HeadOutputs::bytes_of(pass.model.text.config, static_cast<int64_t>(pass.documents.size()));
  }
  run(pass, observers, {}, reserved, progress);
  progress.finish();
  return {loss.values(pass.documents).values, outputs ? kept : nullptr};
}

EditPlan plan_edits(const LossPass& pass, std::span<const Edit> edits) {
  EditPlan plan;
  if (edits.empty()) return plan;
  const ModelConfig& config = pass.model.text.config;
  const int64_t tokens = longest(pass.documents);
  for (const Edit& edit : edits) check_edit(config, edit, tokens);
  const size_t at_once = edits_at_once(pass, edits);
  std::vector<int64_t> own(edits.size());
  std::transform(edits.begin(), edits.end(), own.begin(),
                 [&](const Edit& edit) { return own_stages(pass, edit); });
  std::vector<size_t> order(edits.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return own[a] > own[b]; });
  for (size_t begin = 0; begin < order.size(); begin += at_once) {
    const size_t end = std::min(begin + at_once, order.size());
    plan.rounds.emplace_back(order.begin() + static_cast<ptrdiff_t>(begin),
                             order.begin() + static_cast<ptrdiff_t>(end));
  }
  const int64_t stages = pass.weights.extent().last_stage() + 1;
  const int64_t shared = static_cast<int64_t>(plan.rounds.size()) * stages;
  const int64_t all = std::accumulate(own.begin(), own.end(), shared);
  plan.passes = static_cast<double>(all) / static_cast<double>(stages);
  plan.hidden_bytes = static_cast<int64_t>(at_once + 1) * tokens *
                      bytes_per_token(config, pass.weights.element_size());
  return plan;
}

void measure_edits(const LossPass& pass, std::span<const Edit> edits,
                   const std::function<void(size_t edit, const EditedLoss&)>& finished) {
  const EditPlan plan = plan_edits(pass, edits);
  const int64_t stages = pass.weights.extent().last_stage() + 1;
  const auto total = static_cast<int64_t>(
      plan.passes * static_cast<double>(all_tokens(pass.documents) * stages) + 0.5);
  Progress progress(pass.title, "token-layers", std::max<int64_t>(total, 1));
  for (const std::vector<size_t>& round : plan.rounds) {
    std::vector<Edit> now;
    for (const size_t edit : round) now.push_back(edits[edit]);
    EditedLossCollector collector(pass.model.context);
    Observer* const observers[] = {&collector};
    run(pass, observers, now, held_by(pass, edits), progress);
    for (size_t i = 0; i < round.size(); ++i) {
      finished(round[i], {collector.loss(i, pass.documents), collector.kl(i, pass.documents)});
    }
  }
  progress.finish();
}

}  // namespace ropewalk
