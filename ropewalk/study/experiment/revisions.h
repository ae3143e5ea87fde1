#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ropewalk/study/experiment/experiment.h"

namespace ropewalk {

// Names of revisions in the forms that training runs use: stage1-step-40000, step143000,
// stage2-ingredient1-step1000-tokens3B, ckpt_358, step-1431k-3T.

// Whether `a` comes before `b` in training: stages before long-context phases, numbers by value
// (with k, M, B and T), main last.
bool trained_before(const std::string& a, const std::string& b);

// Whether a name says when in training it was saved: it contains a number, or is main or final.
bool names_step(const std::string& name);

// The step in a name, and the text before it, which all names of a series share.
struct RevisionStep {
  std::string series;
  int64_t step = 0;
};
std::optional<RevisionStep> revision_step(const std::string& name);

// The steps that are missing in a series of evenly spaced steps: {first, last missing} of each gap.
// Only the evenly spaced part counts; runs often save densely at the beginning.
std::vector<std::pair<int64_t, int64_t>> missing_steps(std::vector<int64_t> steps);

// Replaces each phase's pattern (`revisions: "stage1-step-*"`) by the matching checkpoints in the
// order of training: branches and tags of the Hub model, or folders in `model`. Throws InputError
// where a pattern matches nothing or a label would be used twice.
void expand_revisions(Experiment& experiment);

}  // namespace ropewalk
