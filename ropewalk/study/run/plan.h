#pragma once

#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "ropewalk/study/capture/capture.h"
#include "ropewalk/study/experiment/experiment.h"
#include "ropewalk/study/experiment/training_time.h"

namespace ropewalk {

struct FoundVectors;

// One checkpoint of an experiment at one context: where it is, and how it will be measured.
struct PlannedCheckpoint {
  std::string phase;
  TrainingTime time;
  int64_t order = 0;  // order in tables, from 0: the order of the run, one context after another
  // its label in the experiment; capture.label also has the context, where there are several
  std::string checkpoint;
  CaptureOptions capture;  // options of its capture, without the documents
  size_t text = 0;         // the documents that it reads: an index in StudyPlan::texts
  int line = 0;            // line in the experiment file
  // captured vectors instead of weights (capture_vectors.h); null: it has weights
  std::shared_ptr<const FoundVectors> vectors;
};

// A checkpoint that cannot be measured, and the reason.
struct CheckpointFailure {
  std::string label;
  std::exception_ptr error;

  std::string text() const;
};

// Documents that checkpoints share: they have one tokenizer, and are chosen for the longest of the
// contexts. A run has one such set; among several models, those with the same tokenizer and the
// same context share theirs.
struct TextPlan {
  // as the file names it; empty: in the folder of the weights
  std::optional<std::string> tokenizer;
  int tokenizer_line = 0;
  int64_t longest_context = 0;
  int64_t vocabulary = 0;
};

struct StudyPlan {
  // In the order of measuring: all contexts of a checkpoint follow each other.
  std::vector<PlannedCheckpoint> checkpoints;
  std::vector<CheckpointFailure> failures;
  std::vector<TextPlan> texts;  // at least one, where there are checkpoints
  // The smallest context of the checkpoints: which distances heads prefer is asked below it.
  int64_t span = 0;
};

// Finds every checkpoint, opens it (only headers; of a Hub model only the config, because its
// weights are downloaded when it is measured) and checks that the checkpoints belong together.
// Patterns must be expanded. Throws InputError with the line of the experiment file and what to
// write instead; with `keep_going`, checkpoints that cannot be opened are left out and listed in
// `failures`. Captures are written to `out`/checkpoints/LABEL. `headers` holds headers that were
// already read, and gets new ones.
StudyPlan plan_study(
    const Experiment& experiment, const std::filesystem::path& out, bool keep_going,
    const Communicator& processes,
    const std::shared_ptr<KnownHeaders>& headers = std::make_shared<KnownHeaders>());

}  // namespace ropewalk
