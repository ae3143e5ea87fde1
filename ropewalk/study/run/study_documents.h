#pragma once

#include "ropewalk/study/run/plan.h"

namespace ropewalk {

// The documents of plan.texts[text], chosen once for its longest context; `found` becomes the
// dataset that they are from, where it is one.
DocumentSet study_documents(const Experiment& experiment, const StudyPlan& plan, size_t text,
                            std::optional<Dataset>& found);

// Of an experiment with `ablate`: those that its edits' loss is taken on, the next ones after the
// study's `own`. Throws InputError where there are none, or some of them are the same.
DocumentSet ablate_documents(const Experiment& experiment, const StudyPlan& plan, size_t text,
                             const DocumentSet& own);

// Documents, cut to a context.
DocumentSet cut_documents(const DocumentSet& documents, int64_t context);

}  // namespace ropewalk
