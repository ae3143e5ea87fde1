#include <algorithm>
#include <numeric>

#include "ropewalk/base/progress.h"
#include "ropewalk/model/edit.h"
#include "ropewalk/model/memory_plan.h"
#include "ropewalk/study/capture/document_measurement.h"

namespace ropewalk {
namespace {

// Most edits per round: more would save little of the shared pass, and an interrupted round is
// lost.
constexpr size_t kMostAtOnce = 16;

}  // namespace

// How many edits fit into one round, if all need as much memory as the largest one.
size_t DocumentMeasurement::edits_at_once(std::span<const Edit> edits,
                                          int64_t collector_bytes) const {
  const ModelConfig& config = setting_.model.text.config;
  const WeightReader& weights = setting_.weights;
  const int64_t hidden = longest() * bytes_per_token(config, weights.element_size());
  size_t at_once = std::min(edits.size(), kMostAtOnce);
  for (const Edit& edit : edits) {
    MemoryNeeds needs = memory_needs(config, weights, longest(), collector_bytes, {&edit, 1});
    needs.reserved = held_ + pending_bytes_;
    const MemoryPlan plan = plan_memory(needs, setting_.model.memory);
    at_once = std::min(at_once, static_cast<size_t>(plan.hidden_budget / hidden - 1));
  }
  return at_once;
}

EditPlan DocumentMeasurement::plan_rounds(std::span<const Edit> edits,
                                          int64_t collector_bytes) const {
  EditPlan plan;
  if (edits.empty()) return plan;
  const ModelConfig& config = setting_.model.text.config;
  const int64_t tokens = longest();
  for (const Edit& edit : edits) check_edit(config, edit, tokens);
  const size_t at_once = edits_at_once(edits, collector_bytes);
  // The number of stages that are computed separately for each edit.
  std::vector<int64_t> own(edits.size());
  std::transform(edits.begin(), edits.end(), own.begin(), [&](const Edit& edit) {
    const auto first = first_edited_layer(config, edit, tokens);
    return first ? stages() - *first : 0;
  });
  std::vector<size_t> order(edits.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return own[a] > own[b]; });
  for (size_t begin = 0; begin < order.size(); begin += at_once) {
    const size_t end = std::min(begin + at_once, order.size());
    plan.rounds.emplace_back(order.begin() + static_cast<ptrdiff_t>(begin),
                             order.begin() + static_cast<ptrdiff_t>(end));
  }
  const int64_t shared = static_cast<int64_t>(plan.rounds.size()) * stages();
  const int64_t all = std::accumulate(own.begin(), own.end(), shared);
  plan.passes = static_cast<double>(all) / static_cast<double>(stages());
  plan.hidden_bytes = static_cast<int64_t>(at_once + 1) * tokens *
                      bytes_per_token(config, setting_.weights.element_size());
  return plan;
}

void DocumentMeasurement::run_rounds(
    std::span<const Edit> edits, const EditPlan& plan, const std::function<Observer&()>& begin,
    const std::function<void(const std::vector<size_t>& round)>& finished) {
  const auto total =
      static_cast<int64_t>(plan.passes * static_cast<double>(count_tokens(mine_) * stages()) + 0.5);
  Progress progress(setting_.title, "token-layers", std::max<int64_t>(total, 1));
  for (const std::vector<size_t>& round : plan.rounds) {
    std::vector<Edit> now;
    for (const size_t edit : round) now.push_back(edits[edit]);
    Observer* const observers[] = {&begin()};
    run_pass(mine_, observers, now, progress);
    finished(round);
  }
  progress.finish();
}

}  // namespace ropewalk
