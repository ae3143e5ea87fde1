#include "ropewalk/study/run/probe_captures.h"

#include <algorithm>

#include "ropewalk/base/log.h"
#include "ropewalk/base/processes/interrupt.h"
#include "ropewalk/base/units.h"
#include "ropewalk/study/capture/measured_probes.h"
#include "ropewalk/study/run/capture_matcher.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

constexpr const char* kFolder = "probes";

// A capture of all heads of all layers.
PlannedCheckpoint probe_checkpoint(const Study& study, const PlannedCheckpoint& planned) {
  PlannedCheckpoint probes = planned;
  probes.capture.keep = keep_nothing();
  probes.capture.vectors.reset();
  probes.capture.state.reset();
  probes.capture.out = study.out / kFolder / planned.capture.label;
  probes.capture.model.heads.reset();
  probes.capture.model.seed = 0;
  probes.capture.model.sliding = true;
  probes.capture.model.head = false;
  probes.capture.model.scores = true;
  return probes;
}

OpenModel open_config(const PlannedCheckpoint& planned) {
  const ModelOptions& options = planned.capture.model;
  return options.hub ? open_without_weights(options) : open_model(options);
}

// The longest context of the checkpoints that read a text.
int64_t longest_context(const Study& study, size_t text) {
  return study.plan.texts[text].longest_context;
}

}  // namespace

ProbeCaptures::ProbeCaptures(const Study& study) : study_(study) {
  if (!study.experiment.probes) return;
  for (const PlannedCheckpoint& planned : study.plan.checkpoints) {
    ProbePlan plan;
    plan.planned = probe_checkpoint(study, planned);
    plan.context = open_config(plan.planned).context;
    plans_.push_back(std::move(plan));
  }
}

const ProbeSet& ProbeCaptures::probes(size_t text, int64_t context) const {
  const auto [found, added] = sets_.try_emplace({text, context});
  if (added) found->second = make_probes(study_.probe_words[text], context);
  return found->second;
}

size_t ProbeCaptures::index_of(const PlannedCheckpoint& planned) const {
  return static_cast<size_t>(&planned - study_.plan.checkpoints.data());
}

void ProbeCaptures::find(ProbePlan& plan) {
  const ProbeSet& set = probes(plan.planned.text, plan.context);
  if (set.pieces.empty()) return;
  const OpenModel model = open_config(plan.planned);
  CaptureMatcher matcher(plan.planned, set.documents,
                         describe_probes(plan.planned.capture, model, set));
  const std::string& label = plan.planned.capture.label;
  for (StoredCapture& capture : store_->captures()) {
    const bool own = capture.folder == store_->folder_of(label);
    if (capture.in_use || (plan.stored != nullptr && !own)) continue;
    const CaptureInfo& info = capture.info;
    if (info.accumulators != matcher.info().accumulators || !matcher.same_documents(info) ||
        !matcher.same_measure(info) || !is_complete(capture)) {
      continue;
    }
    plan.stored = &capture;
  }
  if (plan.stored != nullptr) plan.stored->in_use = true;
}

void ProbeCaptures::find() {
  if (plans_.empty()) return;
  store_.emplace(study_.out, kFolder);
  for (ProbePlan& plan : plans_) find(plan);
}

bool ProbeCaptures::lacks(const PlannedCheckpoint& planned) const {
  if (plans_.empty()) return false;
  const ProbePlan& plan = plans_[index_of(planned)];
  return plan.stored == nullptr && !probes(plan.planned.text, plan.context).pieces.empty() &&
         !finished(planned);
}

void ProbeCaptures::adopt(const PlannedCheckpoint& planned) {
  if (plans_.empty()) return;
  ProbePlan& plan = plans_[index_of(planned)];
  if (plan.stored == nullptr) return;
  const OpenModel model = open_config(plan.planned);
  store_->adopt(*plan.stored, describe_probes(plan.planned.capture, model,
                                              probes(plan.planned.text, plan.context)));
  const std::lock_guard lock(mutex_);
  finished_[index_of(planned)] = {plan.stored->folder, plan.stored->info};
}

void ProbeCaptures::measure(const PlannedCheckpoint& planned, const OpenModel& model) {
  const ProbePlan& plan = plans_[index_of(planned)];
  const CaptureOptions& capture = plan.planned.capture;
  const bool first = study_.options.processes.first();
  const ProbeSet& set = probes(plan.planned.text, plan.context);
  if (first) store_->clear(capture.label);
  const Timeline::Span span(*study_.timeline, kFolder, capture.label);
  log::info("{}: {}", capture.label,
            format_number_of(static_cast<int64_t>(set.pieces.size()), "probe"));
  try {
    measure_probes(capture, open_model(capture.model, model.checkpoint), set);
  } catch (const Interrupted& interrupted) {
    throw Interrupted(
        interrupted.signal(),
        fmt::format("stopped while measuring probes of '{}'; run the same command again to resume",
                    capture.label));
  }
  if (!first) return;
  const StoredCapture& stored = store_->add(capture.label);
  const std::lock_guard lock(mutex_);
  finished_[index_of(planned)] = {stored.folder, stored.info};
}

std::optional<ProbeCaptures::Finished> ProbeCaptures::finished(
    const PlannedCheckpoint& planned) const {
  const std::lock_guard lock(mutex_);
  const auto found = finished_.find(index_of(planned));
  return found == finished_.end() ? std::nullopt : std::optional(found->second);
}

std::string ProbeCaptures::hash_of(const PlannedCheckpoint& planned) const {
  const std::optional<Finished> capture = finished(planned);
  return capture ? capture->info.moments : "";
}

std::vector<fs::path> ProbeCaptures::unused() const {
  return store_ ? store_->unused(study_.labels()) : std::vector<fs::path>{};
}

void ProbeCaptures::prune() {
  if (store_) store_->prune(study_.labels());
}

std::string study_probes(const Study& study) {
  std::string lines;
  for (size_t text = 0; text < study.probe_words.size(); ++text) {
    std::vector<std::string> models;
    for (const PlannedCheckpoint& planned : study.plan.checkpoints) {
      if (study.probe_words.size() > 1 && planned.text == text) {
        models.push_back(planned.capture.label);
      }
    }
    lines +=
        format_probes(make_probes(study.probe_words[text], longest_context(study, text)), models);
  }
  return lines;
}

std::string describe_study_probes(const Study& study, int64_t lacking) {
  if (!study.experiment.probes) return {};
  int64_t sequences = 0, tokens = 0;
  for (size_t text = 0; text < study.probe_words.size(); ++text) {
    const ProbeSet set = make_probes(study.probe_words[text], longest_context(study, text));
    sequences = std::max(sequences, static_cast<int64_t>(set.pieces.size()));
    tokens = std::max(tokens, set.documents.total_tokens);
  }
  return fmt::format("\nprobes: up to {} of {} tokens together in each checkpoint; {} to measure\n",
                     format_number_of(sequences, "synthetic document"), tokens,
                     format_number_of(lacking, "checkpoint"));
}

}  // namespace ropewalk
