#pragma once

#include <optional>
#include <string>

#include "ropewalk/study/run/plan.h"
#include "ropewalk/study/source/open_model.h"

namespace ropewalk {

// Checks that run before anything is measured. Each throws InputError with the line of the
// experiment file, or its name, and what to write instead.

// The warning of `capture` where a context is longer than the model's config states; else empty.
// Throws where the model has no positions for it.
std::string context_warning(const Experiment& experiment, const Phase& phase,
                            const std::optional<int64_t>& context, const OpenModel& model,
                            const std::string& label);

// Checks that two checkpoints belong to one model.
void check_alike(const Experiment& experiment, const PlannedCheckpoint& planned,
                 const ModelConfig& config, const std::string& first_label,
                 const ModelConfig& first);

// Checks that two sets of captured vectors have the same heads.
void check_alike(const Experiment& experiment, const PlannedCheckpoint& planned,
                 const PlannedCheckpoint& first);

// Checks that the heads that the experiment wants to show are measured.
void check_asked_heads(const Experiment& experiment, const OpenModel& model);

// Warns where models are measured at different contexts: r and classes depend on them.
void warn_of_contexts(const Experiment& experiment, const StudyPlan& plan);

// Checks that figures can have the axis that the experiment requests.
void check_axis(const Experiment& experiment);

}  // namespace ropewalk
