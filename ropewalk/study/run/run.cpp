#include "ropewalk/study/run/run.h"

#include <fmt/ranges.h>

#include <optional>
#include <set>

#include "ropewalk/base/error.h"
#include "ropewalk/base/files/atomic_file.h"
#include "ropewalk/base/files/hash.h"
#include "ropewalk/base/log.h"
#include "ropewalk/study/capture/agreement.h"
#include "ropewalk/study/capture/process_documents.h"
#include "ropewalk/study/run/results.h"
#include "ropewalk/study/run/results_folder.h"
#include "ropewalk/study/show/result_files.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

// The reason why a checkpoint failed, without its label, because the message already begins with
// it: "e.yaml:8: 'X': no such folder" and "e.yaml:8: 'X' lacks a head" have it after the line.
std::string why_without_label(const CheckpointFailure& failure) {
  std::string why = failure.text();
  for (const std::string& name :
       {fmt::format("'{}': ", failure.label), fmt::format("'{}' ", failure.label)}) {
    const size_t found = why.find(name);
    const bool begins = found == 0 || (found != std::string::npos && found >= 2 &&
                                       why.compare(found - 2, 2, ": ") == 0);
    if (begins) return why.erase(found, name.size());
  }
  return why;
}

bool is_of_machine(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const SystemError&) {
    return true;
  } catch (...) {
    return false;
  }
}

// Reports the first failure before an error about writing results, which would hide it. With
// --keep-going it was reported when it happened. A full disk stops both the checkpoint and the
// results; it is then reported once.
void log_first_failure(const Study& study, const MeasuredStudy& measured) {
  if (measured.failures.empty() || study.options.keep_going) return;
  const std::exception_ptr& first = measured.failures.front().error;
  if (is_of_machine(first) && is_of_machine(std::current_exception())) {
    std::rethrow_exception(first);
  }
  log::error("{}", measured.failures.front().text());
}

// Called after everything else is written: reports what is missing from it.
void report_failures(const Study& study, const MeasuredStudy& measured) {
  if (measured.failures.empty()) return;
  if (!study.options.keep_going) std::rethrow_exception(measured.failures.front().error);
  std::vector<std::string> labels;
  for (const CheckpointFailure& failure : measured.failures) {
    labels.push_back(fmt::format("'{}'", failure.label));
  }
  // For several checkpoints, the reason of the first one is given.
  const std::string whose = labels.size() > 1 ? "; " + labels.front() : "";
  throw InputError("{} of {} {} were not measured: {}{}: {}", labels.size(),
                   study.plan.checkpoints.size() + study.plan.failures.size(),
                   study.experiment.models ? "models" : "checkpoints", fmt::join(labels, ", "),
                   whose, why_without_label(measured.failures.front()));
}

// Writes a manifest at the beginning, which says to which study the folder belongs and keeps the
// records of former runs. Where nothing can be written, the user learns it before anything is
// measured.
void write_first_manifest(const Study& study, const Json& former) {
  const bool known = former.is_object() && former.contains("tables");
  write_manifest(study, known ? former : describe_study(study, {}));
}

// Locks the folder and returns the manifest of a former run. The folder is checked again after it
// is locked, because another run may have been faster.
Json lock_folder(const Study& study, std::optional<ResultsFolder>& folder) {
  const auto look = [&] {
    Json manifest = read_json_or_null(study.out / kManifest);
    require_own_folder(study, manifest);
    return manifest;
  };
  look();
  folder.emplace(study.out);
  Json manifest = look();
  write_first_manifest(study, manifest);
  return manifest;
}

}  // namespace

std::string run_study(const RunOptions& options) {
  const Communicator& processes = options.processes;
  std::optional<Study> opened;
  processes.first_before_others([&] { opened.emplace(open_study(options)); });
  Study& study = *opened;
  // These decide how often processes communicate, so they are compared first.
  require_agreement({{"experiment", sha256_hex(study.experiment.text)},
                     {"only", options.only},
                     {"checkpoints", study.plan.checkpoints.size()},
                     {"failures", study.plan.failures.size()}},
                    processes);
  if (options.keep_going && processes.count() > 1) {
    throw UsageError("--keep-going is for one process, but these are {}", processes.count());
  }
  std::optional<ResultsFolder> folder;
  Json manifest;
  if (processes.first()) manifest = lock_folder(study, folder);
  const std::string token = processes.from_first(temporary_token());
  set_temporary_token(processes.first() ? token : fmt::format("{}-{}", token, processes.rank()));
  for (DocumentSet& documents : study.documents) broadcast_documents(documents, processes);
  if (study.experiment.probes) study.probe_words.resize(study.plan.texts.size());
  for (ProbeWords& words : study.probe_words) {
    broadcast_numbers(words.ids, processes);
    broadcast_numbers(words.prefix, processes);
  }
  std::set<std::string> again;  // labels whose captures were damaged
  for (;;) {
    MeasuredStudy measured = measure_study(study);
    bool written = true;
    if (processes.first() && !measured.checkpoints.empty()) {
      try {
        written = write_results(study, measured, manifest, again);
      } catch (const std::exception&) {
        log_first_failure(study, measured);
        throw;
      }
    }
    if (processes.from_first(int64_t{written}) == 0) continue;
    if (!processes.first()) return {};
    report_failures(study, measured);
    if (measured.checkpoints.empty())
      throw UsageError("{}: nothing was measured", study.out.string());
    return result_text(study);
  }
}

}  // namespace ropewalk
