#include "ropewalk/study/run/analyses.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "ropewalk/analysis/analyze/analyze_capture.h"
#include "ropewalk/base/processes/interrupt.h"
#include "ropewalk/moments/files/moments_file.h"
#include "ropewalk/study/capture/capture_folder.h"
#include "ropewalk/study/capture/written_capture.h"

namespace ropewalk {
namespace {

std::pair<std::string, std::string> key_of(const MeasuredCheckpoint& measured) {
  return {measured.info.moments, measured.planned->capture.label};
}

bool reads(const std::string& name, int64_t numerics) {
  return std::any_of(accumulators().begin(), accumulators().end(), [&](const Accumulator* one) {
    return one->name() == name && one->reads(numerics);
  });
}

// A capture may hold more than the experiment asks for by now, or of other numerics: tables are as
// if it did not.
void drop_unwanted_accumulators(CaptureMoments& moments, const Experiment& experiment) {
  CaptureShape asked =
      shape_of(moments.info, moments.documents, moments.streams(StreamKind::query).d());
  asked.keep = keep_both(asked.keep, experiment.keep);
  if (!experiment.keep.loss) moments.document_values.clear();
  const KeepRecords records = kept_records(asked);
  // Other versions cannot be compared with the captures of this one.
  std::erase_if(moments.info.accumulators, [&](const auto& kept) {
    const auto found = records.find(kept.first);
    const KeepOption* const option = find_keep_option(kept.first);
    if (found != records.end()) return !reads(kept.first, kept.second.numerics);
    return option == nullptr || !option->on(experiment.keep);
  });
  std::erase_if(moments.accumulated, [&](const AccumulatedFields& kept) {
    const std::string name = kept.accumulator->name();
    return !name.empty() && !moments.info.accumulators.contains(name);
  });
}

}  // namespace

bool Analyses::PendingAnalysis::done() const {
  return analysis.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

void Analyses::start(const PlannedCheckpoint& planned,
                     std::shared_ptr<const MeasuredCapture> capture) {
  if (!capture->in_memory()) return;
  const AnalysisMemory memory = analysis_memory(planned);
  // The moments in memory, a copy as a reader gets them, and what the analysis needs.
  const int64_t bytes = 2 * capture->bytes() + memory.most();
  const std::lock_guard lock(mutex_);
  if (bytes > memory.budget) return;
  for (const auto& [key, begun] : begun_) {
    if (!begun.done()) return;
  }
  auto job = [this, &planned, memory, capture = std::move(capture)]() mutable {
    throw_if_interrupted();
    const Timeline::Span span(*study_.timeline, "analyze", planned.capture.label);
    CaptureMoments moments = capture->moments();
    capture.reset();
    return make(std::move(moments), planned, planned.capture.out / kMomentsName, memory);
  };
  begun_.insert_or_assign({"", planned.capture.label},
                          PendingAnalysis{worker_.run(std::move(job)), bytes});
}

void Analyses::start(const MeasuredCheckpoint& measured) {
  const AnalysisMemory memory = analysis_memory(*measured.planned);
  const std::lock_guard lock(mutex_);
  if (auto early = begun_.extract({"", measured.planned->capture.label})) {
    early.key() = key_of(measured);
    begun_.insert(std::move(early));
  }
  auto [entry, added] = begun_.try_emplace(key_of(measured));
  if (!added) return;
  entry->second.bytes = memory.most();
  entry->second.analysis = worker_.run([this, memory, measured] {
    throw_if_interrupted();
    return make(measured, memory);
  });
}

int64_t Analyses::bytes() {
  const std::lock_guard lock(mutex_);
  int64_t most = 0;  // analyses run one at a time
  for (const auto& [key, begun] : begun_) {
    if (!begun.done()) most = std::max(most, begun.bytes);
  }
  return most;
}

void Analyses::wait() {
  while (bytes() > 0) {
    throw_if_interrupted();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

CheckpointTable Analyses::take(const MeasuredCheckpoint& measured) {
  std::future<CheckpointTable> analysis;
  {
    const std::lock_guard lock(mutex_);
    const auto found = begun_.find(key_of(measured));
    if (found != begun_.end()) analysis = std::move(begun_.extract(found).mapped().analysis);
  }
  return analysis.valid() ? analysis.get() : make(measured, analysis_memory(*measured.planned));
}

CheckpointTable Analyses::make(const MeasuredCheckpoint& measured,
                               const AnalysisMemory& memory) const {
  const Timeline::Span span(*study_.timeline, "analyze", measured.info.label);
  require_complete(measured.folder, measured.info);
  const std::filesystem::path path = moments_path(measured.folder);
  CaptureMoments moments = read_moments(path, Blocks::if_there, Tokens::sampled_too);
  moments.info.names() = measured.info.names();
  moments.info.accumulators = measured.info.accumulators;
  return make(std::move(moments), *measured.planned, path, memory);
}

CheckpointTable Analyses::make(CaptureMoments moments, const PlannedCheckpoint& planned,
                               const std::filesystem::path& file,
                               const AnalysisMemory& memory) const {
  drop_unwanted_accumulators(moments, study_.experiment);
  std::optional<CaptureMoments> probes;
  if (const auto finished = probes_->finished(planned)) {
    require_complete(finished->folder, finished->info);
    probes = read_moments_head(finished->folder / kMomentsName);
  }
  return analyze_capture(moments, study_.experiment.components, file.string(), memory.for_cores(),
                         study_.plan.span, probes ? &*probes : nullptr);
}

}  // namespace ropewalk
