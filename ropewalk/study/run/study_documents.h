#pragma once

#include "ropewalk/study/run/plan.h"

namespace ropewalk {

// The documents of plan.texts[text], chosen once for its longest context. `found` becomes the
// dataset from which they come, where the corpus is one.
DocumentSet study_documents(const Experiment& experiment, const StudyPlan& plan, size_t text,
                            std::optional<Dataset>& found);

// The documents on which an experiment with `ablate` measures the loss of edits: those after the
// study's `own`. Throws InputError where there are none, or where some are equal to the study's.
DocumentSet ablate_documents(const Experiment& experiment, const StudyPlan& plan, size_t text,
                             const DocumentSet& own);

// The documents, cut to a context.
DocumentSet cut_documents(const DocumentSet& documents, int64_t context);

}  // namespace ropewalk
