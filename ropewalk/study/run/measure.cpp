#include "ropewalk/study/run/measure.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <future>
#include <set>
#include <span>
#include <thread>
#include <tuple>

#include "ropewalk/base/error.h"
#include "ropewalk/base/log.h"
#include "ropewalk/base/processes/interrupt.h"
#include "ropewalk/base/units.h"
#include "ropewalk/model/device.h"
#include "ropewalk/study/capture/capture_state.h"
#include "ropewalk/study/capture/capture_vectors.h"
#include "ropewalk/study/capture/extend_capture.h"
#include "ropewalk/study/run/checkpoint_task.h"
#include "ropewalk/study/run/read_ahead.h"
#include "ropewalk/study/source/locate.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

using Action = CheckpointTask::Action;

class StudyRunner {
 public:
  explicit StudyRunner(const Study& study)
      : study_(study),
        processes_(study.options.processes),
        store_(study.out),
        probes_(std::make_shared<ProbeCaptures>(study)) {
    result_.analyses = std::make_shared<Analyses>(study, probes_);
  }

  MeasuredStudy run();

 private:
  // Records the failure of a checkpoint; rethrows errors that concern more than this checkpoint.
  void record_failure(const PlannedCheckpoint& planned, const std::exception& error);
  // The first process decides, and sends the decisions to the others.
  std::vector<CheckpointTask> decide();
  // Starts to read weights that will be needed.
  void read_ahead(std::span<const CheckpointTask> tasks);
  // Carries out one task; `later` are the tasks after it.
  void take(CheckpointTask& task, std::span<const CheckpointTask> later);
  // Uses the existing capture.
  void keep(CheckpointTask& task, std::span<const CheckpointTask> later);
  // Measures a checkpoint; its capture is written while the next tasks run.
  void measure(CheckpointTask& task, std::span<const CheckpointTask> later);
  void measure_captured(const PlannedCheckpoint& planned, std::span<const CheckpointTask> later);
  void write_in_background(const PlannedCheckpoint& planned, std::span<const CheckpointTask> later,
                           std::shared_ptr<MeasuredCapture> measured);
  // Adds what the existing capture lacks.
  void complete(const CaptureOptions& capture, const OpenModel& model, CheckpointTask& task);
  void evict(const PlannedCheckpoint& planned, std::span<const CheckpointTask> later);
  // Waits for the capture that is being written. Its failure is recorded or thrown.
  void finish_writing();
  // The memory that writing and analysing other checkpoints take at the same time.
  int64_t background_bytes() const;
  void finish(const PlannedCheckpoint& planned, std::span<const CheckpointTask> later);
  void report_unused() const;

  const Study& study_;
  const Communicator& processes_;
  CaptureStore store_;
  std::shared_ptr<ProbeCaptures> probes_;
  MeasuredStudy result_;
  std::set<std::string> failed_;  // labels of failed checkpoints
  bool stopped_ = false;          // whether a failure ended the measuring

  // A checkpoint whose capture is being written.
  struct PendingCheckpointWrite {
    const PlannedCheckpoint* planned = nullptr;
    std::span<const CheckpointTask> later;
    int64_t bytes = 0;
    std::future<void> done;
  };
  std::optional<PendingCheckpointWrite> writing_;
  std::optional<ReadAhead> ahead_;
  Worker writer_;  // destroyed first, so that what was measured is written in any case
};

// The names that the first process has, among those that captures keep.
std::set<std::string> names_from_first(const std::set<std::string>& names,
                                       const Communicator& processes) {
  std::set<std::string> all;
  const auto add = [&](const std::string& name) {
    if (processes.from_first(int64_t{names.contains(name)}) != 0) all.insert(name);
  };
  for (const Accumulator* accumulator : accumulators()) add(accumulator->name());
  for (const KeepOption& option : kKeepOptions) add(option.key);
  return all;
}

bool is_to_measure(const CheckpointTask& task) {
  return task.action == Action::measure || task.action == Action::complete ||
         task.action == Action::extend || task.probes;
}

void StudyRunner::record_failure(const PlannedCheckpoint& planned, const std::exception& error) {
  const bool signal = dynamic_cast<const Interrupted*>(&error) != nullptr;
  if (signal || processes_.count() > 1) std::rethrow_exception(std::current_exception());
  result_.failures.push_back({planned.capture.label, std::current_exception()});
  failed_.insert(planned.capture.label);
  stopped_ = !study_.options.keep_going;
  if (study_.options.keep_going) log::error("{}", error.what());
}

// Says in words that a capture stopped and can be resumed. `there`: number of its documents that
// were read before.
std::string stopped(const PlannedCheckpoint& planned, int64_t there, int64_t documents) {
  const auto saved = planned.capture.state
                         ? find_state(*planned.capture.state, [](const StateInfo&) { return true; })
                         : std::nullopt;
  const bool own = saved && saved->file == *planned.capture.state;
  return fmt::format(
      "stopped after {} of {} documents of '{}'; run the same command again to resume",
      there + (own ? saved->info.documents : 0), documents, planned.capture.label);
}

void StudyRunner::measure(CheckpointTask& task, std::span<const CheckpointTask> later) {
  const CaptureOptions& capture = task.planned->capture;
  const bool first = processes_.first();
  if (first && task.action != Action::keep) {
    if (task.action != Action::measure && !is_complete(*task.stored)) task.action = Action::measure;
    if (!task.why.empty() && task.action == Action::measure) {
      log::info("{}: measured again: {}", capture.label, task.why);
    }
    set_aside_foreign_state(*capture.state, study_.out / "replaced");
  }
  if (task.planned->vectors) return measure_captured(*task.planned, later);
  if (ahead_) ahead_->begin(capture.label);
  if (capture.model.hub) {
    processes_.first_before_others([&] {
      fetch_weights(shared_hub(), *capture.model.hub, {capture.label + ": download", true, {}});
    });
  }
  const OpenModel model =
      open_model(capture.model, ahead_ ? ahead_->ready(capture.label) : nullptr);
  log::info("{}: running in {}", capture.label, model.arithmetic());
  if (task.probes) probes_->measure(*task.planned, model);
  if (task.action == Action::keep) {
    keep(task, later);
    return evict(*task.planned, later);
  }
  const DocumentSet& documents = study_.documents_for(*task.planned, model.context);
  task.action = static_cast<Action>(processes_.from_first(static_cast<int64_t>(task.action)));
  const int64_t there = first && task.action == Action::extend ? task.stored->info.documents : 0;
  try {
    std::optional<Timeline::Span> span(std::in_place, *study_.timeline, "measure", capture.label);
    if (task.action != Action::measure) {
      finish_writing();
      result_.analyses->wait();
      complete(capture, model, task);
      if (task.action == Action::extend) {
        extend_capture(capture, model, documents, task.stored, store_);
      }
      finish(*task.planned, later);
      return;
    }
    if (first) store_.clear(capture.label);
    const PendingWrite pending{background_bytes(), [this] {
                                 finish_writing();
                                 result_.analyses->wait();
                               }};
    std::shared_ptr<MeasuredCapture> measured = measure_capture(capture, model, documents, pending);
    span.reset();
    write_in_background(*task.planned, later, std::move(measured));
  } catch (const Interrupted& interrupted) {
    const auto all = static_cast<int64_t>(documents.documents.size());
    throw Interrupted(interrupted.signal(), stopped(*task.planned, there, all));
  } catch (const UsageError& error) {
    const Experiment& experiment = study_.experiment;
    const bool memory = error.field() == "memory" && experiment.memory;
    throw InputError("{}: '{}': {}",
                     experiment.at(memory ? experiment.memory_line : task.planned->line),
                     capture.label, error.what());
  }
}

void StudyRunner::complete(const CaptureOptions& capture, const OpenModel& model,
                           CheckpointTask& task) {
  if (task.missing.empty()) return;
  complete_capture(capture, model, study_.documents_for(*task.planned, model.context), task.missing,
                   task.stored, store_);
  if (!processes_.first()) return;
  store_.add(capture.label);
  task.stored = store_.at(capture.label);
}

void StudyRunner::measure_captured(const PlannedCheckpoint& planned,
                                   std::span<const CheckpointTask> later) {
  const FoundVectors& vectors = *planned.vectors;
  const std::string& label = planned.capture.label;
  fetch_vectors(shared_hub(), vectors.source, {label + ": download", true, {}});
  std::jthread meanwhile;  // what it has not fetched in time is fetched normally
  const auto next = std::find_if(later.begin(), later.end(), is_to_measure);
  if (next != later.end()) {
    meanwhile = std::jthread([source = next->planned->vectors->source](std::stop_token stop) {
      try {
        fetch_vectors(shared_hub(), source, {source.title, false, std::move(stop)});
      } catch (const std::exception& error) {
        log::debug("in the background: {}", error.what());
      }
    });
  }
  store_.clear(label);
  std::optional<Timeline::Span> span(std::in_place, *study_.timeline, "measure", label);
  std::shared_ptr<MeasuredCapture> measured = measure_vectors(vectors, planned.capture.out, label);
  span.reset();
  write_in_background(planned, later, std::move(measured));
}

void StudyRunner::write_in_background(const PlannedCheckpoint& planned,
                                      std::span<const CheckpointTask> later,
                                      std::shared_ptr<MeasuredCapture> measured) {
  finish_writing();
  if (!measured) return evict(planned, later);
  const int64_t bytes = measured->bytes();
  result_.analyses->start(planned, measured);
  auto write = [this, measured = std::move(measured), &planned]() mutable {
    std::optional<Timeline::Span> writing(std::in_place, *study_.timeline, "write",
                                          planned.capture.label);
    const CaptureInfo info = measured->write();
    writing.reset();
    measured.reset();  // frees its memory for the analysis
    result_.analyses->start({&planned, planned.capture.out, info});
  };
  std::future<void> done = writer_.run(std::move(write));
  writing_ = {&planned, later, bytes, std::move(done)};
}

int64_t StudyRunner::background_bytes() const {
  const int64_t begun = result_.analyses->bytes();
  if (!writing_) return begun;
  // The capture that is being written will be analysed next.
  return writing_->bytes + std::max(begun, analysis_memory(*writing_->planned).most());
}

void StudyRunner::finish_writing() {
  if (!writing_) return;
  PendingCheckpointWrite written = std::move(*writing_);
  writing_.reset();
  try {
    written.done.get();
    finish(*written.planned, written.later);
  } catch (const std::exception& error) {
    record_failure(*written.planned, error);
  }
}

void StudyRunner::finish(const PlannedCheckpoint& planned, std::span<const CheckpointTask> later) {
  if (processes_.first()) {
    const StoredCapture& capture = store_.add(planned.capture.label);
    result_.checkpoints.push_back(
        {&planned, capture.folder, capture.info, probes_->hash_of(planned)});
    result_.analyses->start(result_.checkpoints.back());
  }
  evict(planned, later);
}

std::vector<CheckpointTask> StudyRunner::decide() {
  std::vector<CheckpointTask> tasks(study_.plan.checkpoints.size());
  if (processes_.first()) tasks = decide_tasks(study_, store_, *probes_);
  for (const CheckpointTask& task :
       tasks) {  // an interrupted capture under another name resumes under its own name
    if (task.state.empty() || task.state == *task.planned->capture.state) continue;
    std::error_code ignored;
    fs::rename(task.state, *task.planned->capture.state, ignored);
  }
  for (size_t i = 0; i < tasks.size(); ++i) {
    tasks[i].planned = &study_.plan.checkpoints[i];
    tasks[i].action =
        static_cast<Action>(processes_.from_first(static_cast<int64_t>(tasks[i].action)));
    tasks[i].missing = names_from_first(tasks[i].missing, processes_);
    tasks[i].probes = processes_.from_first(int64_t{tasks[i].probes}) != 0;
  }
  return tasks;
}

void StudyRunner::read_ahead(std::span<const CheckpointTask> tasks) {
  if (!processes_.first() || study_.experiment.uses_captured_vectors()) return;
  std::vector<ReadAhead::Checkpoint> checkpoints;
  for (const CheckpointTask& task : tasks) {
    if (!is_to_measure(task) || failed_.contains(task.planned->capture.label)) continue;
    checkpoints.push_back({task.planned->capture.model, task.planned->capture.label});
  }
  if (checkpoints.empty()) return;
  // Other processes find what the first one has read in the system's cache of files.
  const bool directly = processes_.alone() &&
                        reads_directly(parse_device(checkpoints.front().model.device, processes_));
  ahead_.emplace(std::move(checkpoints), *study_.timeline, directly);
}

void StudyRunner::evict(const PlannedCheckpoint& planned, std::span<const CheckpointTask> later) {
  const auto& hub = planned.capture.model.hub;
  const std::string& label = planned.capture.label;
  // One process per machine evicts, because each machine may have its own cache.
  if (!study_.options.evict || processes_.local_rank() > 0) return;
  const auto say = [&](int64_t freed) {
    if (freed > 0) log::info("{}: {} removed from the cache", label, format_bytes(freed));
  };
  if (planned.vectors) return say(evict_vectors(shared_hub(), planned.vectors->source));
  if (!hub) return;
  const bool needed = std::any_of(later.begin(), later.end(), [&](const CheckpointTask& task) {
    const auto& other = task.planned->capture.model.hub;
    return other && other->name() == hub->name();
  });
  if (needed) return;
  say(evict_weights(shared_hub(), *hub));
}

void StudyRunner::take(CheckpointTask& task, std::span<const CheckpointTask> later) {
  const PlannedCheckpoint& planned = *task.planned;
  if (task.action == Action::leave_out) {
    if (!task.why.empty() && processes_.first()) {
      log::warning(
          "{}: left out of tables and figures, because its capture does not fit this experiment: "
          "{}; run without --only to measure it again",
          planned.capture.label, task.why);
    }
    return;
  }
  if (processes_.first() && !task.probes) probes_->adopt(planned);
  if (is_to_measure(task)) return measure(task, later);
  keep(task, later);
}

void StudyRunner::keep(CheckpointTask& task, std::span<const CheckpointTask> later) {
  if (!processes_.first()) return;
  const PlannedCheckpoint& planned = *task.planned;
  if (study_.wanted(planned) && !task.probes) {
    const auto& all = study_.plan.checkpoints;
    log::info("{} of {}, {}: measured already", &planned - all.data() + 1, all.size(),
              planned.capture.label);
  }
  store_.adopt(*task.stored, task.info);
  remove_states(*planned.capture.state, study_.out / "replaced");
  result_.checkpoints.push_back(
      {&planned, task.stored->folder, task.stored->info, probes_->hash_of(planned)});
  // New captures will change the tables, so that this analysis will be needed.
  if (std::any_of(later.begin(), later.end(), is_to_measure)) {
    result_.analyses->start(result_.checkpoints.back());
  }
}

void StudyRunner::report_unused() const {
  const std::vector<fs::path> captures = store_.unused(study_.labels());
  std::set<fs::path> unused(captures.begin(), captures.end());
  for (const fs::path& folder : probes_->unused()) unused.insert(folder);
  if (unused.empty()) return;
  std::vector<std::string> names;
  for (const fs::path& folder : unused) names.push_back(folder.string());
  log::info("{}: no longer used; --prune removes {}", fmt::join(names, ", "),
            names.size() == 1 ? "it" : "them");
}

MeasuredStudy StudyRunner::run() {
  result_.failures = study_.plan.failures;
  std::vector<CheckpointTask> tasks = decide();
  read_ahead(tasks);
  for (size_t i = 0; i < tasks.size(); ++i) {
    throw_if_interrupted();
    const std::span<CheckpointTask> later = std::span(tasks).subspan(i + 1);
    if (failed_.contains(tasks[i].planned->capture.label)) continue;
    // What exists is used as it is.
    if (stopped_ && tasks[i].action == Action::keep) tasks[i].probes = false;
    if (stopped_ && is_to_measure(tasks[i])) continue;
    try {
      take(tasks[i], later);
      if (!is_to_measure(tasks[i])) evict(*tasks[i].planned, later);
    } catch (const std::exception& error) {
      record_failure(*tasks[i].planned, error);
    }
  }
  finish_writing();
  if (processes_.first()) {
    if (study_.options.prune) {
      store_.prune(study_.labels());
      probes_->prune();
    }
    report_unused();
  }
  // Writing finishes later than keeping an existing capture, so the order is restored. Models all
  // have order 0: they stay in the order of the plan.
  std::sort(result_.checkpoints.begin(), result_.checkpoints.end(),
            [](const MeasuredCheckpoint& a, const MeasuredCheckpoint& b) {
              return std::tuple(a.planned->order, a.planned) <
                     std::tuple(b.planned->order, b.planned);
            });
  return std::move(result_);
}

}  // namespace

MeasuredStudy measure_study(const Study& study) { return StudyRunner(study).run(); }

}  // namespace ropewalk
