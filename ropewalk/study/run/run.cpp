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

// Why a checkpoint failed, without its name: that stands before it. "e.yaml:8: 'X': no such folder"
// and "e.yaml:8: 'X' lacks a head" name it after the place.
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

// Before an error on writing results, which would hide it. With --keep-going it was said when it
// happened. A disk that is full for a checkpoint is full for results too: then it is said once.
void tell_first_failure(const Study& study, const MeasuredStudy& measured) {
  if (measured.failures.empty() || study.options.keep_going) return;
  const std::exception_ptr& first = measured.failures.front().error;
  if (is_of_machine(first) && is_of_machine(std::current_exception())) {
    std::rethrow_exception(first);
  }
  log::error("{}", measured.failures.front().text());
}

// Once everything else is written: what is missing from it.
void report_failures(const Study& study, const MeasuredStudy& measured) {
  if (measured.failures.empty()) return;
  if (!study.options.keep_going) std::rethrow_exception(measured.failures.front().error);
  std::vector<std::string> labels;
  for (const CheckpointFailure& failure : measured.failures) {
    labels.push_back(fmt::format("'{}'", failure.label));
  }
  // Of several, the reason is that of the first.
  const std::string whose = labels.size() > 1 ? "; " + labels.front() : "";
  throw InputError("{} of {} {} were not measured: {}{}: {}", labels.size(),
                   study.plan.checkpoints.size() + study.plan.failures.size(),
                   study.experiment.models ? "models" : "checkpoints", fmt::join(labels, ", "),
                   whose, why_without_label(measured.failures.front()));
}

// Says from the start whose folder this is, and keeps the records of former runs. Where nothing can
// be written, this is known before anything is measured.
void claim_folder(const Study& study, const Json& former) {
  const bool known = former.is_object() && former.contains("tables");
  write_manifest(study, known ? former : describe_study(study, {}));
}

// The folder to write to, and what a former run said of it. It is looked at again once it is held:
// another run may have come first.
Json hold_folder(const Study& study, std::optional<ResultsFolder>& folder) {
  const auto look = [&] {
    Json manifest = read_json_or_null(study.out / kManifest);
    require_own_folder(study, manifest);
    return manifest;
  };
  look();
  folder.emplace(study.out);
  Json manifest = look();
  claim_folder(study, manifest);
  return manifest;
}

}  // namespace

std::string run_study(const RunOptions& options) {
  const Communicator& processes = options.processes;
  std::optional<Study> opened;
  processes.first_before_others([&] { opened.emplace(open_study(options)); });
  Study& study = *opened;
  // What decides how often processes speak to each other, before they do.
  require_agreement({{"experiment", sha256_hex(study.experiment.text)},
                     {"only", options.only},
                     {"checkpoints", study.plan.checkpoints.size()},
                     {"failures", study.plan.failures.size()}},
                    processes);
  if (options.keep_going && processes.count() > 1) {
    throw UsageError("--keep-going is for one process, and these are {}", processes.count());
  }
  std::optional<ResultsFolder> folder;
  Json manifest;
  if (processes.first()) manifest = hold_folder(study, folder);
  const std::string token = processes.from_first(temporary_token());
  set_temporary_token(processes.first() ? token : fmt::format("{}-{}", token, processes.rank()));
  for (DocumentSet& documents : study.documents) broadcast_documents(documents, processes);
  std::set<std::string> again;  // labels whose captures turned out to be damaged
  for (;;) {
    MeasuredStudy measured = measure_study(study);
    bool written = true;
    if (processes.first() && !measured.checkpoints.empty()) {
      try {
        written = write_results(study, measured, manifest, again);
      } catch (const std::exception&) {
        tell_first_failure(study, measured);
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
