#include "ropewalk/study/run.h"

#include <algorithm>
#include <optional>
#include <set>
#include <span>

#include "ropewalk/analysis/summary.h"
#include "ropewalk/base/atomic_file.h"
#include "ropewalk/base/error.h"
#include "ropewalk/base/folder_lock.h"
#include "ropewalk/base/hash.h"
#include "ropewalk/base/interrupt.h"
#include "ropewalk/base/log.h"
#include "ropewalk/base/mapped_file.h"
#include "ropewalk/base/processes.h"
#include "ropewalk/base/units.h"
#include "ropewalk/base/version.h"
#include "ropewalk/checkpoint/safetensors.h"
#include "ropewalk/model/device.h"
#include "ropewalk/moments/moments_file.h"
#include "ropewalk/study/analyze.h"
#include "ropewalk/study/audit.h"
#include "ropewalk/study/capture_state.h"
#include "ropewalk/study/figures.h"
#include "ropewalk/study/inspect.h"
#include "ropewalk/study/locate.h"
#include "ropewalk/study/plan.h"
#include "ropewalk/study/prefetch.h"
#include "ropewalk/study/report.h"
#include "ropewalk/study/revisions.h"
#include "ropewalk/study/shared_documents.h"
#include "ropewalk/study/yaml_map.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

constexpr const char* kManifest = "manifest.json";
constexpr const char* kTable = "qk.csv";
constexpr const char* kSummary = "summary.json";
constexpr const char* kReport = "report.html";

// Empty where there is no such file.
std::string file_digest(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored) ? sha256_file(path) : std::string();
}

// A file's JSON; null where it is missing or broken: then its maker runs again.
Json read_if_there(const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return {};
  try {
    return read_json_file(path);
  } catch (const InputError&) {
    return {};
  }
}

Experiment read_and_expand(const fs::path& file) {
  Experiment experiment = read_experiment(file);
  expand_revisions(experiment);
  return experiment;
}

// Looks at the checkpoints before anything is spent on them. Without a Hub to ask, what is in the
// cache can be measured all the same.
Audit try_audit(const Experiment& experiment) {
  try {
    return audit_experiment(experiment);
  } catch (const InputError& error) {
    log::info("no audit: {}", error.what());
  } catch (const SystemError& error) {
    log::info("no audit: {}", error.what());
  }
  return {};
}

// An experiment on its way to a results folder.
class Study {
 public:
  explicit Study(const RunOptions& options)
      : options_(options),
        experiment_(read_and_expand(options.experiment)),
        out_(options.out.value_or(fs::path("out") / options.experiment.stem())),
        audit_(processes::first() ? try_audit(experiment_) : Audit()),
        plan_(plan_study(experiment_, out_)),
        documents_(processes::first() ? study_documents(experiment_, plan_) : DocumentSet()) {
    check_only();
    check_audit();
    log::info("{}: {} checkpoints, {} documents of up to {} tokens; {}", experiment_.name,
              plan_.checkpoints.size(), documents_.documents.size(), plan_.longest_context,
              documents_.describe_skipped());
  }

  // Collective; of several processes the first one returns the text.
  std::string run();
  std::string describe();

 private:
  void check_only() const;
  void check_audit() const;
  bool wanted(const PlannedCheckpoint& planned) const;
  // What becomes of a checkpoint whose capture is damaged.
  const char* fate(const PlannedCheckpoint& planned) const;
  DocumentSet documents_for(int64_t context) const;
  // Whether a finished capture is there that measured just this; `info` gets its description.
  bool finished(const PlannedCheckpoint& planned, Json* info) const;
  void remove_leftovers() const;
  void settle_documents();
  // Measures what is wanted and not finished; fills present_.
  void measure_all();
  // Whether a former run settled that already, by this checkpoint.
  bool settled_before(const PlannedCheckpoint& decisive);
  // Which checkpoints are to be measured, of those that are there `infos` get their description.
  std::vector<const PlannedCheckpoint*> find_work(std::vector<Json>& infos) const;
  // `next`: the checkpoint to be measured after this one, or null.
  void measure(const PlannedCheckpoint& planned, const PlannedCheckpoint* next);
  void evict(const PlannedCheckpoint& planned, std::span<const PlannedCheckpoint* const> later);
  // False: a capture turned out to be damaged, and was removed.
  bool write_all_tables();
  void draw();
  void report();
  void write_manifest(const Json& tables, const Json& figures);
  std::string result_text() const;

  RunOptions options_;
  Experiment experiment_;
  fs::path out_;
  Audit audit_;
  StudyPlan plan_;
  DocumentSet documents_;
  int64_t settled_ = -1;  // documents to read; -1: all
  // Checkpoints that are finished, in order, with their capture.json.
  std::vector<std::pair<const PlannedCheckpoint*, Json>> present_;
  std::set<std::string> measured_;  // labels of those measured now
  Json manifest_;                   // of the former run, then of this one
};

void Study::check_only() const {
  std::vector<std::string_view> labels;
  for (const PlannedCheckpoint& planned : plan_.checkpoints)
    labels.push_back(planned.capture.label);
  for (const std::string& label : options_.only) {
    if (std::find(labels.begin(), labels.end(), label) != labels.end()) continue;
    const std::string near = nearest(label, labels);
    throw UsageError("--only {}: {} has no such checkpoint{}", label, options_.experiment.string(),
                     near.empty() ? "" : fmt::format("; did you mean '{}'?", near));
  }
}

// A checkpoint that cannot be measured ends the run before it begins; the rest is for the reader to
// judge.
void Study::check_audit() const {
  for (const AuditFinding& finding : audit_.findings) {
    if (finding.kind == AuditFinding::Kind::missing) {
      throw InputError("{}: {}", experiment_.file.string(), finding.text);
    }
    log::warning("audit: {}", finding.text);
  }
}

bool Study::wanted(const PlannedCheckpoint& planned) const {
  return options_.only.empty() || std::find(options_.only.begin(), options_.only.end(),
                                            planned.capture.label) != options_.only.end();
}

const char* Study::fate(const PlannedCheckpoint& planned) const {
  return wanted(planned) ? "is measured again" : "is left out, as --only does not ask for it";
}

DocumentSet Study::documents_for(int64_t context) const {
  return cut_documents(documents_, context, settled_);
}

bool Study::finished(const PlannedCheckpoint& planned, Json* info) const {
  const fs::path folder = planned.capture.out;
  std::error_code ignored;
  if (!fs::exists(folder / kMomentsName, ignored)) return false;
  *info = read_if_there(folder / kCaptureName);
  if (!info->is_object()) return false;
  const ModelOptions& options = planned.capture.model;
  OpenModel model = options.hub ? open_without_weights(options) : open_model(options);
  if (options.hub) {
    // The commit stands for the weights, which need not be in the cache.
    if (info->value("hub", "") != options.hub->name()) return false;
    model.known_fingerprint = info->value("weights", "");
  }
  const Json identity = capture_identity(planned.capture, model, documents_for(model.context));
  for (const auto& [key, value] : identity.items()) {
    if (info->value(key, Json()) != value) {
      log::debug("{}: '{}' changed", planned.capture.label, key);
      return false;
    }
  }
  for (const char* key : {"random", "vectors", "chunk"}) {
    if (info->contains(key) != identity.contains(key)) return false;
  }
  try {
    const SafetensorsFile whole(folder / kMomentsName);  // a header, and the size it states
  } catch (const InputError& error) {
    log::warning("{}; '{}' {}", error.what(), planned.capture.label, fate(planned));
    return false;
  }
  return true;
}

// What a killed run left under temporary names; the lock says that nobody is writing them.
void Study::remove_leftovers() const {
  for (const fs::path& folder : {out_, out_ / "checkpoints", out_ / "figures"}) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder, ignored)) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with('.') && name.find(".tmp-") != std::string::npos) {
        fs::remove_all(entry.path(), ignored);
      }
    }
  }
}

bool Study::settled_before(const PlannedCheckpoint& decisive) {
  const Json info = read_if_there(decisive.capture.out / kCaptureName);
  const Json target = info.is_object() ? info.value("target_se", Json()) : Json();
  if (!target.is_object() || target.value("value", 0.0) != *experiment_.target_se) return false;
  settled_ = info.value("documents", int64_t{-1});
  Json ignored;
  if (finished(decisive, &ignored)) return true;
  settled_ = -1;
  return false;
}

// With a target, the first trained checkpoint decides how many documents all of them read.
void Study::settle_documents() {
  if (!experiment_.target_se) return;
  settled_ = -1;
  const auto decisive =
      std::find_if(plan_.checkpoints.begin(), plan_.checkpoints.end(),
                   [](const PlannedCheckpoint& planned) { return !planned.capture.model.random; });
  if (decisive == plan_.checkpoints.end()) return;
  const bool settled = processes::first() && settled_before(*decisive);
  if (processes::share(int64_t{settled}) == 0) {
    PlannedCheckpoint planned = *decisive;
    planned.capture.target_se = experiment_.target_se;
    measure(planned, nullptr);
    if (processes::first()) {
      const Json measured = read_if_there(decisive->capture.out / kCaptureName);
      settled_ = measured.value("documents", int64_t{-1});
    }
  }
  settled_ = processes::share(settled_);
}

void Study::measure(const PlannedCheckpoint& planned, const PlannedCheckpoint* next) {
  const CaptureOptions& capture = planned.capture;
  std::error_code error;
  if (processes::first()) fs::remove_all(capture.out, error);  // of other settings
  if (error) throw SystemError("{}: cannot remove: {}", capture.out.string(), error.message());
  if (capture.model.hub) {
    processes::first_before_others([&] {
      fetch_weights(shared_hub(), *capture.model.hub, {capture.label + ": download", true, {}});
    });
  }
  const OpenModel model = open_model(capture.model);
  std::optional<Prefetch> prefetch;
  if (next != nullptr && next->capture.model.hub && processes::first()) {
    prefetch.emplace(shared_hub(), *next->capture.model.hub);
  }
  try {
    capture_documents(capture, model, documents_for(model.context));
  } catch (const UsageError& unusable) {
    const bool given = experiment_.memory.has_value();
    throw InputError(
        "{}: '{}': {}",
        given ? experiment_.at(experiment_.memory_line) + ": memory" : experiment_.file.string(),
        capture.label, unusable.what());
  }
  measured_.insert(capture.label);
}

void Study::evict(const PlannedCheckpoint& planned,
                  std::span<const PlannedCheckpoint* const> later) {
  const auto& hub = planned.capture.model.hub;
  // One process a machine, as each may have a cache of its own.
  if (!options_.evict || !hub || processes::local_rank() > 0) return;
  const bool needed = std::any_of(later.begin(), later.end(), [&](const PlannedCheckpoint* other) {
    return other->capture.model.hub && other->capture.model.hub->name() == hub->name();
  });
  if (needed) return;
  const int64_t freed = evict_weights(shared_hub(), *hub);
  if (freed > 0)
    log::info("{}: {} removed from the cache", planned.capture.label, format_bytes(freed));
}

bool Study::write_all_tables() {
  if (present_.empty()) throw UsageError("{}: nothing was measured", out_.string());
  // Everything the tables depend on.
  Json inputs{{"components", experiment_.components}, {"captures", Json::array()}};
  for (const auto& [planned, info] : present_) {
    inputs["captures"].push_back({planned->phase, planned->order, info});
  }
  const std::string digest = sha256_hex(inputs.dump());
  const Json former = manifest_.is_object() ? manifest_.value("tables", Json()) : Json();
  if (former.is_object() && former.value("inputs", "") == digest &&
      former.value(kTable, "") == file_digest(out_ / kTable) &&
      former.value(kSummary, "") == file_digest(out_ / kSummary)) {
    log::info("tables: up to date");
    return true;
  }
  AnalyzeOptions analysis;
  analysis.components = experiment_.components;
  analysis.from = "moments";
  std::vector<CheckpointAnalysis> checkpoints;
  for (const auto& [planned, info] : present_) {
    throw_if_interrupted();
    CheckpointAnalysis checkpoint;
    try {
      checkpoint = analyze_folder(planned->capture.out, analysis);
    } catch (const InputError& error) {
      if (measured_.contains(planned->capture.label)) throw;
      log::warning("{}; '{}' {}", error.what(), planned->capture.label, fate(*planned));
      std::error_code ignored;
      fs::remove_all(planned->capture.out, ignored);
      return false;
    }
    checkpoint.phase = planned->phase;
    checkpoint.order = planned->order;
    checkpoint.model = experiment_.name;
    if (experiment_.target_se && !checkpoint.random) {
      const HeadlineError error = headline_error(checkpoint);
      const double worst = std::max(error.mean_r_q_se, error.mean_r_k_se);
      if (!(worst <= *experiment_.target_se)) {
        log::warning("{}: standard error {:.4f}, above the target {}", checkpoint.label, worst,
                     *experiment_.target_se);
      }
    }
    checkpoints.push_back(std::move(checkpoint));
  }
  write_tables(out_ / kTable, checkpoints);
  write_manifest({{"inputs", digest},
                  {kTable, file_digest(out_ / kTable)},
                  {kSummary, file_digest(out_ / kSummary)}},
                 Json());
  return true;
}

void Study::draw() {
  DrawOptions drawing;
  drawing.table = out_ / kTable;
  drawing.summary = out_ / kSummary;
  drawing.out = out_ / "figures";
  drawing.formats = options_.formats;
  drawing.experiment = experiment_;
  const Json tables = manifest_.at("tables");
  const std::string digest =
      sha256_hex(Json{tables, experiment_.portraits, drawing.formats, version()}.dump());
  const Json former = manifest_.value("figures", Json());
  if (former.is_object() && former.value("inputs", "") == digest) {
    const Json files = former.value("files", Json::object());
    const bool there =
        std::all_of(files.items().begin(), files.items().end(), [&](const auto& file) {
          return file.value() == Json(file_digest(drawing.out / file.key()));
        });
    if (there && !files.empty()) {
      log::info("figures: up to date");
      return;
    }
  }
  draw_figures(drawing);
  Json files = Json::object();
  for (const auto& entry : fs::directory_iterator(drawing.out)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_regular_file() && !name.starts_with('.')) files[name] = file_digest(entry.path());
  }
  write_manifest(tables, {{"inputs", digest}, {"files", files}});
}

void Study::report() {
  if (!can_write_report()) {
    log::info("no report: this program was built without it");
    return;
  }
  // The page holds the manifest, all but this entry.
  Json inputs = manifest_;
  inputs.erase("report");
  const std::string digest = sha256_hex(inputs.dump() + report_template_digest());
  const Json former = manifest_.value("report", Json());
  if (former.is_object() && former.value("inputs", "") == digest &&
      former.value(kReport, "") == file_digest(out_ / kReport)) {
    log::info("report: up to date");
    return;
  }
  write_report({out_, out_ / kReport});
  manifest_["report"] = {{"inputs", digest}, {kReport, file_digest(out_ / kReport)}};
  write_file_atomically(out_ / kManifest, manifest_.dump(2) + "\n");
}

void Study::write_manifest(const Json& tables, const Json& figures) {
  const DocumentSet read = documents_for(plan_.longest_context);
  Json captures = Json::array();
  for (const auto& [planned, info] : present_) {
    captures.push_back(info);
    captures.back()["phase"] = planned->phase;
  }
  manifest_ = {{"format", 1},
               {"ropewalk", version_details()},
               {"name", experiment_.name},
               {"experiment",
                {{"file", experiment_.file.filename().string()},
                 {"sha256", file_digest(experiment_.file)},
                 {"text", MappedFile(experiment_.file).text()}}},
               {"corpus",
                {{"path", experiment_.corpus.path.string()},
                 {"documents", read.documents.size()},
                 {"tokens", read.total_tokens},
                 {"skipped_short", documents_.skipped_short},
                 {"tokenizer", documents_.tokenizer_digest}}},
               {"settings",
                {{"blocks", experiment_.blocks},
                 {"components", experiment_.components},
                 {"heads", experiment_.head_count ? Json(*experiment_.head_count) : Json("all")},
                 {"heads_seed", experiment_.head_seed},
                 {"portraits", experiment_.portraits},
                 {"sliding", experiment_.sliding},
                 {"target_se", experiment_.target_se ? Json(*experiment_.target_se) : Json()},
                 {"vectors", experiment_.vectors ? Json(*experiment_.vectors) : Json()}}},
               {"checkpoints", captures},
               {"tables", tables},
               {"figures", figures}};
  write_file_atomically(out_ / kManifest, manifest_.dump(2) + "\n");
}

std::vector<const PlannedCheckpoint*> Study::find_work(std::vector<Json>& infos) const {
  std::vector<const PlannedCheckpoint*> to_do;
  for (const PlannedCheckpoint& planned : plan_.checkpoints) {
    bool measure = false;
    if (processes::first()) {
      Json& info = infos[static_cast<size_t>(planned.order)];
      const bool done = finished(planned, &info);
      if (!done) info = Json();
      measure = !done && wanted(planned);
    }
    if (processes::share(int64_t{measure}) != 0) to_do.push_back(&planned);
  }
  return to_do;
}

void Study::measure_all() {
  present_.clear();
  settle_documents();
  std::vector<Json> infos(plan_.checkpoints.size());  // of those that are finished
  const std::vector<const PlannedCheckpoint*> to_do = find_work(infos);
  std::span<const PlannedCheckpoint* const> later(to_do);
  for (const PlannedCheckpoint& planned : plan_.checkpoints) {
    throw_if_interrupted();
    Json& info = infos[static_cast<size_t>(planned.order)];
    if (!later.empty() && later.front() == &planned) {
      later = later.subspan(1);
      measure(planned, later.empty() ? nullptr : later.front());
      if (processes::first()) info = read_json_file(planned.capture.out / kCaptureName);
    } else if (!info.is_null()) {
      if (wanted(planned)) {
        log::info("{} of {}, {}: measured already", planned.order + 1, plan_.checkpoints.size(),
                  planned.capture.label);
      }
      remove_states(*planned.capture.state);
    } else {
      continue;
    }
    evict(planned, later);
    present_.emplace_back(&planned, std::move(info));
  }
}

std::string Study::run() {
  std::optional<FolderLock> lock;
  if (processes::first()) {
    lock.emplace(out_);
    remove_leftovers();
    manifest_ = read_if_there(out_ / kManifest);
  }
  share_documents(documents_);
  bool written = false;
  while (!written) {
    measure_all();
    written = processes::share(int64_t{processes::first() && write_all_tables()}) != 0;
  }
  if (!processes::first()) return {};
  draw();
  report();
  return result_text();
}

std::string Study::result_text() const {
  const Json summary = read_if_there(out_ / kSummary);
  const auto number = [](const Json& leaf) {
    if (leaf["value"].is_null()) return std::string("–");
    const std::string value = fmt::format("{:.3f}", leaf["value"].get<double>());
    return leaf["se"].is_null() ? value
                                : fmt::format("{} ± {:.3f}", value, leaf["se"].get<double>());
  };
  const auto phase_of = [](const Json& checkpoint) {
    return checkpoint["random"] == true ? std::string("baseline")
                                        : checkpoint["phase"].get<std::string>();
  };
  size_t label_width = 10;
  size_t phase_width = 5;
  for (const Json& checkpoint : summary["checkpoints"]) {
    label_width = std::max(label_width, checkpoint["label"].get<std::string>().size());
    phase_width = std::max(phase_width, phase_of(checkpoint).size());
  }
  std::string text =
      fmt::format("{:<{}}  {:<{}}  {:<14}  {:<14}  {:<18}\n", "checkpoint", label_width, "phase",
                  phase_width, "mean r_q", "mean r_k", "position-dominated");
  for (const Json& checkpoint : summary["checkpoints"]) {
    const auto label = checkpoint["label"].get<std::string>();
    text += fmt::format("{:<{}}  {:<{}}  {:<14}  {:<14}  {:<18}\n", label, label_width,
                        phase_of(checkpoint), phase_width, number(summary["mean_r_q"][label]),
                        number(summary["mean_r_k"][label]),
                        number(summary["taxonomy"][label]["position-dominated"]));
  }
  text += fmt::format("\ntables   {} and {}\nfigures  {}\n", (out_ / kTable).string(), kSummary,
                      (out_ / "figures").string());
  if (can_write_report()) text += fmt::format("report   {}\n", (out_ / kReport).string());
  return text;
}

// How much of a Hub checkpoint is still to come.
std::string missing(const HubCheckpoint& checkpoint) {
  int64_t bytes = 0;
  for (const HubFile& file : missing_weights(shared_hub(), checkpoint)) bytes += file.size;
  return format_bytes(bytes);
}

std::string Study::describe() {
  std::string text =
      fmt::format("{}: {} checkpoints, {} documents, into {}\n\n", experiment_.name,
                  plan_.checkpoints.size(), documents_.documents.size(), out_.string());
  text += fmt::format("{:<16}  {:<12}  {:>8}  {:>8}  {:>10}  {:>9}  {}\n", "checkpoint", "phase",
                      "context", "tokens", "weights", "TFLOP", "to do");
  double total = 0;
  double rate = 0;
  for (const PlannedCheckpoint& planned : plan_.checkpoints) {
    const ModelOptions& options = planned.capture.model;
    const bool remote = options.hub && !has_weights(shared_hub(), *options.hub);
    const OpenModel model = remote ? open_without_weights(options) : open_model(options);
    const DocumentSet documents = documents_for(model.context);
    const double flops =
        flops_per_document(model) * static_cast<double>(documents.documents.size());
    Json info;
    const bool done = finished(planned, &info);
    const bool measured = !done && wanted(planned);
    if (measured) total += flops;
    if (rate == 0) rate = product_rate(model.dtype, model.device);
    text += fmt::format("{:<16}  {:<12}  {:>8}  {:>8}  {:>10}  {:>9.3g}  {}\n",
                        planned.capture.label, planned.phase, model.context,
                        format_count(static_cast<double>(documents.total_tokens)),
                        options.random ? "random"
                        : remote       ? "on the Hub"
                                       : format_bytes(needed_weights(model)),
                        flops / 1e12,
                        done        ? "measured already"
                        : !measured ? "not asked for"
                        : remote    ? fmt::format("download {}, measure", missing(*options.hub))
                                    : "measure");
  }
  // Attention and what is not a matrix product run below the rate of a large product.
  constexpr double kEfficiency = 0.5;
  text += fmt::format("\nabout {} of computing on this machine\n",
                      format_duration(total / (rate * kEfficiency)));
  return text;
}

}  // namespace

std::string run_study(const RunOptions& options) {
  std::optional<Study> study;
  processes::first_before_others([&] { study.emplace(options); });
  return study->run();
}

std::string describe_run(const RunOptions& options) { return Study(options).describe(); }

}  // namespace ropewalk
