#pragma once

#include "ropewalk/study/plan.h"
#include "ropewalk/study/vectors_source.h"

namespace ropewalk {

// Captured vectors in the place of a checkpoint, and what their capture will say of itself.
struct PlannedVectors {
  VectorsSource source;
  CaptureInfo info;  // without documents and tokens
};

// The part of plan_study for experiments of captured vectors: lists them and checks that they are
// whole and of one model. Of `model:`, where there is one, the config says what vectors do not.
// Throws InputError where none can be measured.
StudyPlan plan_vectors(const Experiment& experiment, const std::filesystem::path& out,
                       bool keep_going);

// The same where it is no error that none can be measured.
StudyPlan list_vectors(const Experiment& experiment, const std::filesystem::path& out,
                       bool keep_going);

}  // namespace ropewalk
