#pragma once

#include <vector>

#include "ropewalk/figures/figure.h"
#include "ropewalk/study/capture/stage.h"
#include "ropewalk/study/run/measure.h"

namespace ropewalk {

// The stage `ablate` of an experiment that has the key: every checkpoint's heads edited, on the
// entries of the corpus after those that were measured. What is done of a checkpoint is kept in
// OUT/ablate/LABEL and gone on with. Sets that a checkpoint has no head for are left out, with a
// warning.
Stage ablation_stage(const Study& study, const MeasuredStudy& measured);

// The figures that the stage left in the results folder, by its record in the manifest.
std::vector<Figure> ablation_figures(const Study& study, const Json& record);

// What it would do, in words, for a dry run; empty without the key.
std::string describe_study_ablation(const Study& study);

}  // namespace ropewalk
