#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "ropewalk/base/units.h"
#include "ropewalk/model/device.h"
#include "ropewalk/study/capture/capture_vectors.h"
#include "ropewalk/study/capture/inspect.h"
#include "ropewalk/study/run/analysis_memory.h"
#include "ropewalk/study/run/checkpoint_task.h"
#include "ropewalk/study/run/results_folder.h"
#include "ropewalk/study/run/study_ablation.h"
#include "ropewalk/study/show/result_files.h"
#include "ropewalk/study/source/locate.h"

namespace ropewalk {
namespace {

using Action = CheckpointTask::Action;

// The bytes of a Hub checkpoint that are not downloaded yet.
int64_t missing(const HubCheckpoint& checkpoint) {
  int64_t bytes = 0;
  for (const HubFile& file : missing_weights(shared_hub(), checkpoint)) bytes += file.size;
  return bytes;
}

// The number of documents of a checkpoint that are already read.
int64_t done_documents(const CheckpointTask& task) {
  if (task.action == Action::keep) return task.stored->info.documents;
  return task.resumed + (task.action == Action::extend ? task.stored->info.documents : 0);
}

// The largest number of documents that any checkpoint could read.
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

bool is_measured(const CheckpointTask& task) {
  return task.action != Action::leave_out && (task.action != Action::keep || task.probes);
}

// `download`: bytes that must be downloaded first.
std::string describe_task(const CheckpointTask& task, int64_t download) {
  const int64_t done = done_documents(task);
  if (task.action == Action::leave_out) return "not requested";
  if (!is_measured(task)) return "measured already";
  std::string text =
      download > 0 ? fmt::format("download {}, measure", format_bytes(download)) : "measure";
  if (task.action == Action::keep) return text + " probes in addition to what exists";
  if (task.stored != nullptr && !task.missing.empty()) {
    text += fmt::format(" {} in addition to what exists", fmt::join(task.missing, ", "));
    if (task.action == Action::complete) return text;
    text += ", and add documents";
  }
  if (done > 0) text += fmt::format(", {} of {} documents done", done, task.info.documents);
  if (!task.why.empty() && task.action == Action::measure) text += fmt::format(" ({})", task.why);
  return text;
}

// The costs of a run.
struct RunCosts {
  double operations = 0;
  double rate = 0;  // operations per second of matrix products on this machine; 0: none are needed
  int64_t memory = 0;
  std::map<std::string, int64_t> downloads;  // per checkpoint, because its contexts share weights
};

std::string row(const CheckpointTask& task, const std::string& context, const std::string& tokens,
                const std::string& size, const std::string& operations, const std::string& action) {
  return fmt::format("{:<16}  {:<12}  {:>8}  {:>8}  {:>10}  {:>9}  {}\n",
                     task.planned->capture.label, task.planned->phase, context, tokens, size,
                     operations, action);
}

std::string row_of_vectors(const CheckpointTask& task, RunCosts& costs) {
  const FoundVectors& vectors = *task.planned->vectors;
  int64_t download = 0;
  if (is_measured(task)) {
    download = missing_bytes(shared_hub(), vectors.source);
    costs.downloads[vectors.source.name()] = download;
  }
  const int64_t context = vectors.info.context;
  return row(task, context > 0 ? std::to_string(context) : "–", "–",
             format_bytes(vectors.source.bytes()), "–", describe_task(task, download));
}

std::string row_of_weights(const CheckpointTask& task, RunCosts& costs) {
  const ModelOptions& options = task.planned->capture.model;
  const bool remote = options.hub && !has_weights(shared_hub(), *options.hub);
  const OpenModel model = remote ? open_without_weights(options) : open_model(options);
  const double flops =
      flops_per_document(model) * static_cast<double>(task.info.documents - done_documents(task));
  if (task.action != Action::leave_out) costs.operations += flops;
  if (costs.rate == 0) costs.rate = product_rate(model.dtype, model.device);
  costs.memory = std::max(costs.memory, model.memory);
  if (model.device.is_cpu()) {
    costs.memory = std::max(costs.memory, analysis_memory(*task.planned).least());
  }
  int64_t download = 0;
  if (remote && is_measured(task)) {
    auto [found, added] = costs.downloads.try_emplace(options.hub->name());
    if (added) found->second = missing(*options.hub);
    download = found->second;
  }
  return row(task, std::to_string(model.context),
             format_count(static_cast<double>(task.info.tokens)),
             options.random ? "random"
             : remote       ? "on the Hub"
                            : format_bytes(needed_weights(model)),
             fmt::format("{:.3g}", flops / 1e12), describe_task(task, download));
}

std::string describe(const RunCosts& costs) {
  int64_t bytes = 0;
  for (const auto& [name, size] : costs.downloads) bytes += size;
  const std::string download = bytes > 0 ? format_bytes(bytes) + " to download; " : "";
  if (costs.rate == 0) return download + "no GPU is needed\n";
  // Attention, and operations other than matrix products, are slower than one large product.
  constexpr double kEfficiency = 0.5;
  // The rate that the shapes of SmolLM3-3B reach in bfloat16 on one H200 (docs/performance.md);
  // small models reach less.
  constexpr double kH200 = 550e12;
  return fmt::format(
      "{}about {} of computing on this machine, within {} of memory; {} GPU hours on one H200, at "
      "{:.0f} TFLOP/s\n",
      download, format_duration(costs.operations / (costs.rate * kEfficiency)),
      format_bytes(costs.memory), format_hours(costs.operations / kH200), kH200 / 1e12);
}

}  // namespace

std::string describe_run(const RunOptions& options) {
  const Study study = open_study(options);
  require_own_folder(study, read_json_or_null(study.out / kManifest));
  CaptureStore store(study.out);
  ProbeCaptures probes(study);
  const std::vector<CheckpointTask> tasks = decide_tasks(study, store, probes);
  const bool vectors = study.experiment.uses_captured_vectors();
  std::string text = fmt::format(
      "{}: {}, {}, into {}\n\n", study.experiment.name,
      format_number_of(static_cast<int64_t>(tasks.size()),
                       study.experiment.models ? "model" : "checkpoint"),
      vectors ? "captured vectors" : format_number_of(most_documents(study), "document"),
      study.out.string());
  text += fmt::format("{:<16}  {:<12}  {:>8}  {:>8}  {:>10}  {:>9}  {}\n", "checkpoint", "phase",
                      "context", "tokens", vectors ? "vectors" : "weights", "TFLOP", "to do");
  RunCosts costs;
  for (const CheckpointTask& task : tasks) {
    text += task.planned->vectors ? row_of_vectors(task, costs) : row_of_weights(task, costs);
  }
  for (const CheckpointFailure& failure : study.plan.failures) {
    text += fmt::format("{:<16}  cannot be measured: {}\n", failure.label, failure.text());
  }
  for (const auto& folder : store.unused(study.labels())) {
    text += fmt::format("\n{}: is no longer used; --prune removes it", folder.string());
  }
  const auto lacking = std::count_if(tasks.begin(), tasks.end(),
                                     [](const CheckpointTask& task) { return task.probes; });
  return text + "\n" + describe(costs) + describe_study_probes(study, lacking) +
         describe_study_ablation(study);
}

}  // namespace ropewalk
