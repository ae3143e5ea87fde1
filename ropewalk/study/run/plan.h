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

// One checkpoint of an experiment at one context: where it is and how it will be measured.
struct PlannedCheckpoint {
  std::string phase;
  TrainingTime time;
  int64_t order = 0;       // in tables, from 0: the order of the run, at one context after another
  std::string checkpoint;  // its label in the experiment; capture.label has the context besides
                           // where it is measured at several
  CaptureOptions capture;  // without documents
  size_t text = 0;         // which documents it reads: a place in StudyPlan::texts
  int line = 0;            // in the experiment file
  std::shared_ptr<const FoundVectors> vectors;  // in its place (capture_vectors.h); null: weights
};

// A checkpoint that cannot be measured, and why.
struct CheckpointFailure {
  std::string label;
  std::exception_ptr error;

  std::string text() const;
};

// Documents that checkpoints share: of one tokenizer, chosen for the longest of their contexts. The
// checkpoints of a run have one; of several models, those that name the same tokenizer and have the
// same context share theirs.
struct TextPlan {
  std::optional<std::string> tokenizer;  // as the file names it; none: beside the weights
  int tokenizer_line = 0;
  int64_t longest_context = 0;
  int64_t vocabulary = 0;
};

struct StudyPlan {
  // In the order of measuring: all contexts of a checkpoint together.
  std::vector<PlannedCheckpoint> checkpoints;
  std::vector<CheckpointFailure> failures;
  std::vector<TextPlan> texts;  // at least one, where there are checkpoints
  // The smallest context of the checkpoints: which distances heads prefer is asked below it.
  int64_t span = 0;
};

// Finds every checkpoint, opens it (headers only; of a Hub model the config alone, as its weights
// come when it is measured) and checks that they belong together. Patterns are expanded already.
// Throws InputError with the line of the experiment file and what to write instead; with
// `keep_going`, checkpoints that cannot be opened are left out and named in `failures`. Captures go
// to `out`/checkpoints/LABEL. `headers`: what was read of them, here too.
StudyPlan plan_study(
    const Experiment& experiment, const std::filesystem::path& out, bool keep_going,
    const Communicator& processes,
    const std::shared_ptr<KnownHeaders>& headers = std::make_shared<KnownHeaders>());

}  // namespace ropewalk
