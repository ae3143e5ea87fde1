#pragma once

#include <vector>

#include "ropewalk/figures/figure.h"
#include "ropewalk/study/capture/stage.h"
#include "ropewalk/study/run/measure.h"

namespace ropewalk {

// The stage `ablate` of an experiment with this key: edits heads of every checkpoint, and measures
// the loss on the entries of the corpus after those that were measured. Finished edits are kept in
// OUT/ablate/LABEL, from where the stage resumes. Sets without a head in a checkpoint are left out,
// with a warning.
Stage ablation_stage(const Study& study, const MeasuredStudy& measured);

// The figures that the stage wrote to the results folder, according to its record in the manifest.
std::vector<Figure> ablation_figures(const Study& study, const Json& record);

// Describes in words, for a dry run, what the stage would do; empty without the key.
std::string describe_study_ablation(const Study& study);

}  // namespace ropewalk
