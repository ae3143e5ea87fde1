#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ropewalk/study/experiment/experiment.h"

namespace ropewalk {

// Names of revisions, as training runs write them: stage1-step-40000, step143000,
// stage2-ingredient1-step1000-tokens3B, ckpt_358, step-1431k-3T.

// Whether `a` comes before `b` in training: stages before long-context phases, numbers by value
// (k, M, B and T included), main last.
bool trained_before(const std::string& a, const std::string& b);

// Whether a name says when in training it is from: it holds a number, or is main or final.
bool names_step(const std::string& name);

// The step a name holds, and what is before it, the same for all names of a series.
struct RevisionStep {
  std::string series;
  int64_t step = 0;
};
std::optional<RevisionStep> revision_step(const std::string& name);

// The steps that a series of evenly spaced steps leaves out: {first, last missing} of each gap.
// Only the evenly spaced part counts; runs often save densely at first.
std::vector<std::pair<int64_t, int64_t>> missing_steps(std::vector<int64_t> steps);

// Replaces each phase's pattern (`revisions: "stage1-step-*"`) by the checkpoints it stands for: of
// the Hub model's branches and tags, or of the folders in `model`, in the order of training. Throws
// InputError where a pattern matches nothing or a label would stand for two.
void expand_revisions(Experiment& experiment);

}  // namespace ropewalk
