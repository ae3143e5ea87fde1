#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ropewalk/study/capture/probes.h"
#include "ropewalk/study/run/audit.h"
#include "ropewalk/study/run/plan.h"
#include "ropewalk/study/run/run.h"
#include "ropewalk/study/run/timeline.h"

namespace ropewalk {

// An experiment that is about to be measured: its options, the results folder, its checkpoints and
// the documents that they read.
struct Study {
  RunOptions options;
  Experiment experiment;
  std::filesystem::path out;
  StudyPlan plan;
  // Only in the first of several processes: documents for each entry of plan.texts, and the dataset
  // from which they come, if any.
  std::vector<DocumentSet> documents;
  // only in the first process, for an experiment with `ablate`
  std::vector<DocumentSet> ablate_documents;
  std::optional<Dataset> dataset;
  // For an experiment with `probes`: what they are made of, for each entry of plan.texts.
  std::vector<ProbeWords> probe_words;
  std::shared_ptr<Timeline> timeline = std::make_shared<Timeline>();

  // The labels of every checkpoint in the file, including those that cannot be measured.
  std::vector<std::string> labels() const;
  // Whether a checkpoint is to be measured where it has no capture.
  bool wanted(const PlannedCheckpoint& planned) const;
  // The documents that a checkpoint reads, cut to a context; computed once per text and context.
  const DocumentSet& documents_for(const PlannedCheckpoint& planned, int64_t context) const;

 private:
  mutable std::map<std::pair<size_t, int64_t>, DocumentSet> cut_;  // by text and context
};

// Reads the experiment, checks its checkpoints and chooses the documents. Throws InputError or
// UsageError where something is wrong with them, before anything is measured.
Study open_study(const RunOptions& options);

}  // namespace ropewalk
