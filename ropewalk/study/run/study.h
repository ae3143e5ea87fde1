#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ropewalk/study/run/audit.h"
#include "ropewalk/study/run/plan.h"
#include "ropewalk/study/run/run.h"
#include "ropewalk/study/run/timeline.h"

namespace ropewalk {

// An experiment that is about to be measured: what was asked for, where results go, which
// checkpoints it has and which documents they read.
struct Study {
  RunOptions options;
  Experiment experiment;
  std::filesystem::path out;
  StudyPlan plan;
  // Of several processes, the first one's alone: documents as plan.texts has them, and the dataset
  // that they are from, where they are from one.
  std::vector<DocumentSet> documents;
  std::vector<DocumentSet> ablate_documents;  // likewise, of an experiment with `ablate`
  std::optional<Dataset> dataset;
  std::shared_ptr<Timeline> timeline = std::make_shared<Timeline>();

  // Of every checkpoint in the file, those that cannot be measured included.
  std::vector<std::string> labels() const;
  // Whether a checkpoint is to be measured where it is not there.
  bool wanted(const PlannedCheckpoint& planned) const;
  // The documents that a checkpoint reads, cut to a context; once for all that ask.
  const DocumentSet& documents_for(const PlannedCheckpoint& planned, int64_t context) const;

 private:
  mutable std::map<std::pair<size_t, int64_t>, DocumentSet> cut_;  // by text and context
};

// Reads the experiment, looks at its checkpoints and chooses the documents. Throws InputError or
// UsageError where something is wrong with them, before anything is spent.
Study open_study(const RunOptions& options);

}  // namespace ropewalk
