#pragma once

#include <optional>
#include <string>

#include "ropewalk/study/run/plan.h"
#include "ropewalk/study/source/open_model.h"

namespace ropewalk {

// What is found out before anything is measured. Each throws InputError with the line of the
// experiment file, or its name, and what to write instead.

// A warning where a context is beyond what the model's config states, as capture has it; else
// empty. Throws where the model has no positions there.
std::string context_warning(const Experiment& experiment, const Phase& phase,
                            const std::optional<int64_t>& context, const OpenModel& model,
                            const std::string& label);

// Two checkpoints are of one model.
void check_alike(const Experiment& experiment, const PlannedCheckpoint& planned,
                 const ModelConfig& config, const std::string& first_label,
                 const ModelConfig& first);

// The same of captured vectors: they are of the same heads.
void check_alike(const Experiment& experiment, const PlannedCheckpoint& planned,
                 const PlannedCheckpoint& first);

// The heads that the experiment wants to see are among those measured.
void check_asked_heads(const Experiment& experiment, const OpenModel& model);

// Warns where models are measured at several contexts: r and classes depend on them.
void warn_of_contexts(const Experiment& experiment, const StudyPlan& plan);

// Figures can be laid out as the experiment asks.
void check_axis(const Experiment& experiment);

}  // namespace ropewalk
