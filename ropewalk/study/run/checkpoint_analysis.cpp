#include "ropewalk/study/run/checkpoint_analysis.h"

#include <algorithm>
#include <filesystem>

#include "ropewalk/base/log.h"
#include "ropewalk/study/capture/capture_files.h"
#include "ropewalk/study/capture/capture_folder.h"
#include "ropewalk/study/capture/capture_store.h"
#include "ropewalk/study/capture/written_capture.h"
#include "ropewalk/study/run/analyses.h"

namespace ropewalk {
namespace fs = std::filesystem;
namespace {

// Whether the bytes are to blame. Where capture.json has no hash, nobody knows.
bool is_damaged(const MeasuredCheckpoint& measured) {
  try {
    require_complete(measured.folder, measured.info);
    return false;
  } catch (const InputError&) {
    return true;
  }
}

// Discards a damaged capture with a warning, so that its checkpoint is measured again. A second
// failure of the same checkpoint is not damage: it ends the run instead of looping.
void give_up_capture(const Study& study, const MeasuredCheckpoint& measured, const InputError& why,
                     std::set<std::string>& again) {
  const std::string& label = measured.planned->capture.label;
  if (!again.insert(label).second) {
    throw InputError("{}, also after '{}' was measured again", why.what(), label);
  }
  try {
    discard_capture(study.out, measured.folder);
  } catch (const SystemError& error) {
    throw SystemError("{}; {}", error.what(), why.what());
  }
  log::warning("{}; '{}' is measured again", why.what(), label);
}

}  // namespace

CheckpointTable analyze_checkpoint(const Study& study, const MeasuredCheckpoint& measured,
                                   Analyses& analyses, std::set<std::string>& again) {
  CheckpointTable checkpoint;
  try {
    checkpoint = analyses.take(measured);
  } catch (const InputError& error) {
    if (!is_damaged(measured)) {
      throw AnalysisFailure(measured.planned->capture.label, error, measured.folder);
    }
    give_up_capture(study, measured, error, again);
    throw DamagedCapture(error.what());
  }
  checkpoint.label = measured.planned->capture.label;
  checkpoint.phase = measured.planned->phase;
  checkpoint.order = measured.planned->order;
  const TrainingTime& time = measured.planned->time;
  checkpoint.step = time.step.value_or(CheckpointTable::kUnknown);
  checkpoint.tokens = time.tokens.value_or(CheckpointTable::kUnknown);
  checkpoint.independent_model = study.experiment.models;
  checkpoint.model = study.experiment.models ? checkpoint.label : study.experiment.name;
  // All read the same documents, each cut to its own context: pairs are by the whole ones.
  const auto& documents = study.documents[measured.planned->text].documents;
  for (size_t i = 0; i < std::min(checkpoint.documents.size(), documents.size()); ++i) {
    checkpoint.documents[i] = {documents[i].index, documents[i].prefix_digest};
  }
  return checkpoint;
}

}  // namespace ropewalk
