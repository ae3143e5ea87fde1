#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "ropewalk/base/units.h"
#include "ropewalk/model/device.h"
#include "ropewalk/study/inspect.h"
#include "ropewalk/study/locate.h"
#include "ropewalk/study/measure_vectors.h"
#include "ropewalk/study/results_folder.h"
#include "ropewalk/study/settle.h"
#include "ropewalk/study/work.h"

namespace ropewalk {
namespace {

using Task = Work::Task;

// How much of a Hub checkpoint is still to come.
int64_t missing(const HubCheckpoint& checkpoint) {
  int64_t bytes = 0;
  for (const HubFile& file : missing_weights(shared_hub(), checkpoint)) bytes += file.size;
  return bytes;
}

// Documents of a checkpoint that are read already.
int64_t done_documents(const Work& work) {
  if (work.task == Task::keep) return work.stored->info.documents;
  return work.resumed + (work.task == Task::extend ? work.stored->info.documents : 0);
}

// While it is open how many documents are read, one checkpoint decides that for all.
struct Settling {
  const PlannedCheckpoint* decisive = nullptr;  // null: it is settled
  bool decides(const Work& work) const { return decisive != nullptr && work.planned == decisive; }
  bool follows(const Work& work) const { return decisive != nullptr && work.planned != decisive; }
};

// That any of its checkpoints could read.
int64_t most_documents(const Study& study) {
  size_t most = 0;
  for (const DocumentSet& set : study.documents) most = std::max(most, set.documents.size());
  return static_cast<int64_t>(most);
}

// "0.02", "1.3"
std::string format_hours(double seconds) {
  const double hours = seconds / 3600;
  return hours < 0.001 ? "under 0.001" : fmt::format("{:.2g}", hours);
}

bool is_measured(const Work& work, const Settling& settling) {
  return work.task != Task::leave_out && (work.task != Task::keep || settling.follows(work));
}

// `download`: bytes that must come first.
std::string to_do(const Work& work, int64_t download, const Settling& settling) {
  const int64_t done = done_documents(work);
  if (work.task == Task::leave_out) return "not asked for";
  if (!is_measured(work, settling)) return "measured already";
  std::string text =
      download > 0 ? fmt::format("download {}, measure", format_bytes(download)) : "measure";
  if (work.stored != nullptr && !work.missing.empty()) {
    text += fmt::format(" {} beside what is there", fmt::join(work.missing, ", "));
    if (work.task == Task::complete) return text;
    text += ", and add documents";
  }
  if (settling.decides(work)) text += ", until the target is reached";
  if (settling.follows(work)) {
    text += fmt::format(", as many documents as '{}'", settling.decisive->capture.label);
  }
  if (done > 0) text += fmt::format(", {} of {} documents done", done, work.info.documents);
  if (!work.why.empty() && work.task == Task::measure) text += fmt::format(" ({})", work.why);
  return text;
}

}  // namespace

std::string describe_run(const RunOptions& options) {
  const Study study = open_study(options);
  require_own_folder(study, read_if_there(study.out / kManifest));
  if (study.experiment.from_vectors()) return describe_vectors_run(study);
  CaptureStore store(study.out);
  const PlannedCheckpoint* decisive = decisive_checkpoint(study);
  const Settled settled =
      decisive == nullptr ? Settled() : settle_by_captures(study, store, *decisive);
  const Settling settling{settled.documents < 0 ? decisive : nullptr};
  std::vector<Work> works = decide_work(study, store, settled.documents);
  for (Work& work : works) {
    if (!settling.decides(work)) continue;  // it is measured even where it is not asked for
    work.task = settled.stored == nullptr ? Task::measure : Task::extend;
    work.stored = settled.stored;
    if (!settled.why.empty()) work.why = settled.why;
  }
  std::string text = fmt::format(
      "{}: {}, {}{}, into {}\n\n", study.experiment.name,
      format_number_of(static_cast<int64_t>(works.size()),
                       study.experiment.models ? "model" : "checkpoint"),
      settling.decisive != nullptr ? "up to " : "",
      format_number_of(settled.documents < 0 ? most_documents(study) : settled.documents,
                       "document"),
      study.out.string());
  if (decisive != nullptr && settling.decisive == nullptr) {
    text += fmt::format("{}: the {} documents that are there {} the target {}\n\n",
                        decisive->capture.label, settled.documents,
                        settled.reached ? "reach" : "miss", *study.experiment.target_se);
  }
  text += fmt::format("{:<16}  {:<12}  {:>8}  {:>8}  {:>10}  {:>9}  {}\n", "checkpoint", "phase",
                      "context", "tokens", "weights", "TFLOP", "to do");
  double total = 0;
  double rate = 0;
  int64_t memory = 0;
  std::map<std::string, int64_t> downloads;  // by checkpoint: contexts share weights
  for (const Work& work : works) {
    const ModelOptions& model_options = work.planned->capture.model;
    const bool remote = model_options.hub && !has_weights(shared_hub(), *model_options.hub);
    const OpenModel model =
        remote ? open_without_weights(model_options) : open_model(model_options);
    const double flops =
        flops_per_document(model) * static_cast<double>(work.info.documents - done_documents(work));
    if (work.task != Task::leave_out) total += flops;
    if (rate == 0) rate = product_rate(model.dtype, model.device);
    memory = std::max(memory, model.memory);
    int64_t download = 0;
    if (remote && is_measured(work, settling)) {
      auto [found, added] = downloads.try_emplace(model_options.hub->name());
      if (added) found->second = missing(*model_options.hub);
      download = found->second;
    }
    text += fmt::format("{:<16}  {:<12}  {:>8}  {:>8}  {:>10}  {:>9.3g}  {}\n",
                        work.planned->capture.label, work.planned->phase, model.context,
                        format_count(static_cast<double>(work.info.tokens)),
                        model_options.random ? "random"
                        : remote             ? "on the Hub"
                                             : format_bytes(needed_weights(model)),
                        flops / 1e12, to_do(work, download, settling));
  }
  for (const CheckpointFailure& failure : study.plan.failures) {
    text += fmt::format("{:<16}  cannot be measured: {}\n", failure.label, failure.text());
  }
  for (const auto& folder : store.unused(study.labels())) {
    text += fmt::format("\n{}: nothing refers to it any more; --prune removes it", folder.string());
  }
  // Attention and what is not a matrix product run below the rate of a large product.
  constexpr double kEfficiency = 0.5;
  // What SmolLM3-3B's shapes reach in bfloat16 on one H200 (docs/performance.md); small models
  // reach less.
  constexpr double kH200 = 550e12;
  int64_t bytes = 0;
  for (const auto& [name, size] : downloads) bytes += size;
  text += fmt::format(
      "\n{}about {} of computing on this machine, within {} of memory; {} GPU hours on one H200, "
      "at "
      "{:.0f} TFLOP/s\n",
      bytes > 0 ? format_bytes(bytes) + " to download; " : "",
      format_duration(total / (rate * kEfficiency)), format_bytes(memory),
      format_hours(total / kH200), kH200 / 1e12);
  return text;
}

}  // namespace ropewalk
