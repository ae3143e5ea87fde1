#include "ropewalk/study/settle.h"

#include <algorithm>
#include <map>

#include "ropewalk/analysis/analyze_capture.h"
#include "ropewalk/analysis/summary.h"
#include "ropewalk/base/error.h"
#include "ropewalk/base/log.h"
#include "ropewalk/study/analysis_memory.h"
#include "ropewalk/study/wanted.h"

namespace ropewalk {
namespace {

// Captures of a checkpoint on the first of the study's documents or on all, fewest first.
std::vector<StoredCapture*> captures_of(Wanted& wanted, CaptureStore& store) {
  std::vector<StoredCapture*> found;
  for (StoredCapture& capture : store.captures()) {
    const bool documents = wanted.same_documents(capture.info) || wanted.begins_with(capture.info);
    if (documents && wanted.same_measure(capture.info)) found.push_back(&capture);
  }
  std::stable_sort(found.begin(), found.end(), [](const StoredCapture* a, const StoredCapture* b) {
    return a->info.documents < b->info.documents;
  });
  return found;
}

enum class Verdict { reached, missed, damaged };

Verdict judge(const StoredCapture& capture, double target, const PlannedCheckpoint& decisive) {
  if (const auto& known = capture.info.target_se) {
    if (known->reached && known->value <= target) return Verdict::reached;
    if (!known->reached && known->value >= target) return Verdict::missed;
  }
  try {
    require_whole_moments(capture.folder, capture.info);
  } catch (const InputError& error) {
    log::warning("{}; this capture is not used", error.what());
    return Verdict::damaged;
  }
  const std::filesystem::path file = capture.folder / kMomentsName;
  try {
    const double worst = headline_error(analyze_capture(read_moments(file), 1, file.string(),
                                                        analysis_memory(decisive).for_cores()))
                             .worst;
    return worst <= target ? Verdict::reached : Verdict::missed;  // unknown: a miss
  } catch (const InputError& error) {
    throw InputError("{}; {} is left as it is", error.what(), capture.folder.string());
  }
}

}  // namespace

const PlannedCheckpoint* decisive_checkpoint(const Study& study,
                                             const std::set<std::string>& failed) {
  if (!study.experiment.target_se) return nullptr;
  const auto& checkpoints = study.plan.checkpoints;
  const auto found =
      std::find_if(checkpoints.begin(), checkpoints.end(), [&](const PlannedCheckpoint& planned) {
        return !planned.capture.model.random && !failed.contains(planned.capture.label);
      });
  return found == checkpoints.end() ? nullptr : &*found;
}

Settled settle_by_captures(const Study& study, CaptureStore& store,
                           const PlannedCheckpoint& decisive) {
  const double target = *study.experiment.target_se;
  Wanted all(study, decisive, -1);
  Settled settled;
  for (StoredCapture* capture : captures_of(all, store)) {
    const Verdict verdict = judge(*capture, target, decisive);
    if (verdict == Verdict::damaged) continue;
    settled.stored = capture;
    settled.reached = verdict == Verdict::reached;
    if (!settled.reached && !all.same_documents(capture->info)) continue;
    settled.documents = capture->info.documents;
    return settled;
  }
  if (settled.stored == nullptr || all.why_not_extended().empty()) return settled;
  settled.why = fmt::format("{} documents miss the target {}, and {}",
                            settled.stored->info.documents, target, all.why_not_extended());
  settled.stored = nullptr;
  return settled;
}

int64_t finished_documents(const Study& study, CaptureStore& store) {
  std::map<int64_t, int> checkpoints;  // by how many documents they read
  for (const PlannedCheckpoint& planned : study.plan.checkpoints) {
    Wanted all(study, planned, -1);
    for (const StoredCapture* capture : captures_of(all, store)) {
      ++checkpoints[capture->info.documents];
    }
  }
  const auto most =
      std::max_element(checkpoints.begin(), checkpoints.end(), [](const auto& a, const auto& b) {
        return std::pair(a.second, a.first) < std::pair(b.second, b.first);
      });
  return most == checkpoints.end() ? -1 : most->first;
}

}  // namespace ropewalk
