#include "ropewalk/study/capture/document_measurement.h"

#include <algorithm>
#include <future>
#include <numeric>

#include "ropewalk/base/error.h"
#include "ropewalk/base/log.h"
#include "ropewalk/base/processes/free_memory.h"
#include "ropewalk/base/progress.h"
#include "ropewalk/model/device.h"
#include "ropewalk/model/forward.h"
#include "ropewalk/moments/capture_info.h"
#include "ropewalk/moments/collectors/loss_collector.h"
#include "ropewalk/moments/collectors/moments_collector.h"
#include "ropewalk/moments/collectors/probe_collector.h"
#include "ropewalk/moments/files/moments_state.h"
#include "ropewalk/study/capture/agreement.h"
#include "ropewalk/study/capture/capture_state.h"
#include "ropewalk/study/capture/process_documents.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

int64_t bytes_of(const MomentsCollector& moments) {
  int64_t bytes = 0;
  for (const auto& [number, layer] : moments.layers()) bytes += layer.bytes;
  return bytes;
}

}  // namespace

DocumentMeasurement::DocumentMeasurement(MeasurementSetting setting)
    : setting_(std::move(setting)), mine_(setting_.documents), start_(Clock::now()) {
  const Communicator& processes = setting_.processes;
  if (processes.alone()) return;
  part_ = part_of_documents(mine_, processes.rank(), processes.count());
  mine_ = part_;
}

int64_t DocumentMeasurement::count_tokens(std::span<const Document> documents) {
  return std::accumulate(documents.begin(), documents.end(), int64_t{0},
                         [](int64_t sum, const Document& document) {
                           return sum + static_cast<int64_t>(document.tokens.size());
                         });
}

int64_t DocumentMeasurement::longest() const {
  size_t tokens = 0;
  for (const Document& document : setting_.documents) {
    tokens = std::max(tokens, document.tokens.size());
  }
  return static_cast<int64_t>(tokens);
}

// Whether a capture that is being written may stay in memory during this measurement, without
// making it read anything more often.
bool DocumentMeasurement::fits_with_pending(int64_t held) const {
  const OpenModel& model = setting_.model;
  const int64_t other = setting_.pending.bytes;
  // A GPU's budget is its own memory, but moments that are being written are in the machine's.
  if (!model.device.is_cpu()) return held + other <= free_memory() / 2;
  if (held + other > model.memory / 4) return false;
  MemoryNeeds needs =
      memory_needs(model.text.config, setting_.weights, longest(), /*collector_bytes=*/0);
  try {
    needs.reserved = held;
    const MemoryPlan alone = plan_memory(needs, model.memory);
    needs.reserved += other;
    const MemoryPlan both = plan_memory(needs, model.memory);
    return both.keep_weights == alone.keep_weights && both.layers_ahead == alone.layers_ahead;
  } catch (const UsageError&) {
    return false;
  }
}

void DocumentMeasurement::reserve(int64_t bytes) {
  held_ = bytes;
  if (setting_.pending.bytes == 0) return;
  if (!fits_with_pending(bytes)) {
    setting_.pending.wait();
  } else if (setting_.model.device.is_cpu()) {
    pending_bytes_ = setting_.pending.bytes;
  }
  start_ = Clock::now();
}

void DocumentMeasurement::collect(Observer& observer) { observers_.push_back(&observer); }

void DocumentMeasurement::collect(MomentsCollector& moments) {
  moments_ = &moments;
  observers_.push_back(&moments);
}

void DocumentMeasurement::collect(LossCollector& loss) {
  loss_ = &loss;
  observers_.push_back(&loss);
}

void DocumentMeasurement::collect(ProbeCollector& probes) {
  probes_ = &probes;
  observers_.push_back(&probes);
}

std::vector<DocumentValues> DocumentMeasurement::values_of(std::span<const Document> read) const {
  std::vector<DocumentValues> values;
  if (probes_ != nullptr) values = probes_->values(read);
  if (loss_ == nullptr) return values;
  values.push_back(loss_->values(read));
  if (setting_.pieces) values.push_back(cluster_values(read));
  return values;
}

void DocumentMeasurement::resume(const fs::path& state, std::function<Json()> identity) {
  state_ = state;
  identity_ = std::move(identity);
  const std::optional<StateInfo> saved = read_state_info(state_);
  if (!saved) return;
  std::vector<DocumentValues> values;
  before_ = restore_state(state_, *moments_, identity_(), mine_, &values);
  if (before_ == 0) return;
  if (loss_ != nullptr) loss_->restore(mine_.first(static_cast<size_t>(before_)), values);
  seconds_before_ = saved->seconds;
  log::info("{}: resuming after {} documents", setting_.label, before_);
}

void DocumentMeasurement::save(int64_t documents) const {
  moments_->fetch();
  const auto read = mine_.first(static_cast<size_t>(documents));
  save_state(state_, *moments_, {identity_(), documents, seconds()}, read, values_of(read));
}

double DocumentMeasurement::seconds() const { return seconds_before_ + seconds_since(start_); }

void DocumentMeasurement::run_pass(std::span<const Document> documents,
                                   std::span<Observer* const> observers,
                                   std::span<const Edit> edits, Progress& progress,
                                   const std::function<void(int64_t)>& after_group) {
  if (documents.empty()) return;
  ForwardOptions options;
  options.memory = setting_.model.memory;
  options.reserved = held_ + pending_bytes_;
  options.edits = edits;
  options.after_group = after_group;
  options.progress = [&](int64_t stage, int64_t tokens) {
    progress.note(setting_.model.stage_name(stage));
    progress.advance(tokens);
  };
  run_forward(setting_.model.text.config, setting_.weights, documents, observers, options);
}

void DocumentMeasurement::run() {
  // Computing needs only some rows of the embedding table, but all of it is hashed.
  std::future<void> embedding =
      std::async(std::launch::async, [this] { setting_.weights.hash_embedding(); });
  std::future<void> memory;
  if (moments_ != nullptr && setting_.model.device.is_cuda()) {
    memory = std::async(std::launch::async, [this] { moments_->prefault_memory(); });
  }
  const auto unread = mine_.subspan(static_cast<size_t>(before_));
  const auto all = static_cast<int64_t>(mine_.size());
  Progress progress(setting_.title, "token-layers", count_tokens(unread) * stages());
  SavePacing pacing;
  const auto save_at_times = [&](int64_t group_end) {
    const int64_t done = before_ + group_end;
    if (state_.empty() || done == all || !pacing.due()) return;
    pacing.time([&] { save(done); });
  };
  try {
    run_pass(unread, observers_, {}, progress, save_at_times);
    const Clock::time_point fetching = Clock::now();
    if (moments_ != nullptr) moments_->fetch_all();
    log::debug("moments fetched in {:.4f} s", seconds_since(fetching));
    values_ = values_of(mine_);
  } catch (const InputError& error) {
    if (setting_.label.empty()) throw;
    throw InputError("'{}': {}", setting_.label, error.what());
  }
  progress.finish();
  embedding.get();
  if (setting_.model.device.is_cuda()) {
    log::debug("GPU memory: {} bytes at most", peak_memory(setting_.model.device));
  }
}

std::vector<DocumentValues> DocumentMeasurement::join(CaptureInfo& info) {
  const Communicator& processes = setting_.processes;
  const OpenModel& model = setting_.model;
  info.weights = setting_.weights.digest(model.measured());
  if (model.head) info.head_weights = setting_.weights.digest_beyond(model.measured());
  require_same_weights(info.weights + info.head_weights, processes);
  if (moments_ != nullptr) {
    const Clock::time_point joining = Clock::now();
    moments_->join_in_first(processes);
    log::debug("moments of {} processes, {} bytes each, joined in {:.4f} s", processes.count(),
               bytes_of(*moments_), seconds_since(joining));
  }
  gather_values(values_, indexes_of(mine_), indexes_of(setting_.documents), processes);
  info.seconds = seconds();
  return std::move(values_);
}

}  // namespace ropewalk
